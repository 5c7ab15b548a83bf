#include "posenc/model/hugging_face/detail/families.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "posenc/model/hugging_face.hpp"

namespace {
namespace of_hugging_face_families {

using namespace posenc;

TEST(families, share_no_model_type) {
  std::set<std::string_view> seen;
  for (auto const& family : detail::model_families::all) {
    EXPECT_FALSE(family.types.empty());
    for (auto const type : detail::words_of(family.types))
      EXPECT_TRUE(!type.empty() && seen.insert(type).second) << type;
  }
  EXPECT_EQ(detail::family_of(""), nullptr);
}

TEST(families, name_keys_that_some_families_have) {
  auto const known = detail::words_of(detail::keys_of_some_families);
  for (auto const& family : detail::model_families::all)
    for (auto const key : detail::words_of(family.keys))
      EXPECT_TRUE(key == "partial_rotary_factor" || detail::contains(known, key))
          << family.types << ": " << key;
}

}  // namespace of_hugging_face_families
}  // namespace
