#include "posenc/model/detail/settings.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/model/detail/findings.hpp"
#include "rejects.hpp"

namespace {
namespace of_settings {

using sentences = std::vector<std::string>;

struct reader : posenc::detail::findings {
  reader() { take_defaults_from("the tests have it"); }
};

TEST(findings, records_a_sentence_once) {
  reader r;
  for (auto const* sentence : {"A.", "B.", "A."}) r.assume(sentence), r.note(sentence);
  EXPECT_EQ(r.found.assumptions, (sentences{"A.", "B."}));
  EXPECT_EQ(r.found.notes, (sentences{"A.", "B."}));
}

TEST(findings, says_which_default_it_takes_and_from_where) {
  reader r;
  EXPECT_EQ(r.assumed("head_dim", std::size_t{128}), 128u);
  EXPECT_EQ(r.assumed("rope_theta", 2.5e5), 2.5e5);
  EXPECT_EQ(r.found.assumptions,
            (sentences{"head_dim is not given: 128, as the tests have it.",
                       "rope_theta is not given: 250000, as the tests have it."}));
}

TEST(findings, lists_defaults_and_ignored_keys_for_programs) {
  using settings = std::vector<posenc::model_setting>;
  reader r;
  r.assumed("head_dim", std::size_t{128});
  r.assumed("head_dim", std::size_t{128});
  r.assume("layer_types", "sliding_attention", "All slide.");
  r.ignore({"rope_new", "3"});
  EXPECT_EQ(r.found.assumed, (settings{{"head_dim", "128"}, {"layer_types", "sliding_attention"}}));
  EXPECT_EQ(r.found.assumptions.back(), "All slide.");
  EXPECT_EQ(r.found.ignored, (settings{{"rope_new", "3"}}));
}

/// Keys in memory, as both formats look them up.
struct keys_in_memory : posenc::detail::settings<keys_in_memory> {
  std::map<std::string, double, std::less<>> values;

  double const* value_of(std::string_view key) const {
    auto const found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view must) const {
    posenc::detail::refuse(key, " must ", must);
  }
  static std::optional<double> number_in(double x) { return x; }
  static std::optional<std::uint64_t> whole_in(double x) {
    return x >= 0 ? std::optional(static_cast<std::uint64_t>(x)) : std::nullopt;
  }
  static std::optional<bool> flag_in(double x) {
    return x == 0 || x == 1 ? std::optional(x == 1) : std::nullopt;
  }
  static std::optional<std::string> text_in(double) { return {}; }
};

TEST(settings, are_of_their_type_or_absent_or_refused) {
  keys_in_memory keys;
  keys.values = {{"half", 0.5}, {"five", 5}, {"one", 1}, {"minus", -1}, {"none", std::nan("")}};
  EXPECT_EQ(keys.number("half"), 0.5);
  EXPECT_EQ(keys.number("absent"), std::nullopt);
  EXPECT_EQ(keys.count("absent", 9), std::nullopt);
  EXPECT_EQ(keys.flag("absent"), std::nullopt);
  EXPECT_EQ(keys.text("absent"), std::nullopt);
  EXPECT_EQ(keys.count("five", 5), 5u);
  EXPECT_EQ(keys.count("five", 5, 9), 5u);
  EXPECT_EQ(keys.flag("one"), true);
  EXPECT_TRUE(keys.has("half"));
  EXPECT_FALSE(keys.has("absent"));
  EXPECT_EQ(message_of([&] { keys.count("five", 4); }),
            "posenc: five must be a whole number from 1 to 4");
  EXPECT_EQ(message_of([&] { keys.count("five", 6, 9); }),
            "posenc: five must be a whole number from 6 to 9");
  EXPECT_EQ(message_of([&] { keys.count("minus", 4); }),
            "posenc: minus must be a whole number from 1 to 4");
  EXPECT_EQ(message_of([&] { keys.number("none"); }), "posenc: none must be a finite number");
  EXPECT_EQ(message_of([&] { keys.flag("five"); }), "posenc: five must be true or false");
  EXPECT_EQ(message_of([&] { keys.text("five"); }), "posenc: five must be a string");
}

}  // namespace of_settings
}  // namespace
