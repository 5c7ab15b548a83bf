#include "posenc/model/gguf/detail/architectures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace {
namespace of_gguf_architectures {

using namespace posenc;

TEST(gguf_architectures, share_no_name) {
  std::vector<std::string_view> names;
  for (auto const& record : detail::gguf_architectures::all)
    for (auto const name : detail::words_of(record.types)) names.push_back(name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace of_gguf_architectures
}  // namespace
