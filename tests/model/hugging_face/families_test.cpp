#include "posenc/model/hugging_face/families.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "posenc/model/hugging_face.hpp"

namespace {
namespace of_hugging_face_families {

using namespace posenc;

TEST(families, share_no_model_type) {
  std::set<std::string_view> seen;
  auto const look = [&](auto const& table) {
    for (auto const& family : table) {
      EXPECT_FALSE(family.types.empty());
      for (auto const type : detail::words_of(family.types))
        EXPECT_TRUE(!type.empty() && seen.insert(type).second) << type;
    }
  };
  look(detail::model_families::all);
  look(detail::measured_families::all);
  EXPECT_EQ(detail::family_of(""), nullptr);
}

}  // namespace of_hugging_face_families
}  // namespace
