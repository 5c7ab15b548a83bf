// The map of weights has the mean weight of the largest item under each size.
#include <cstdio>
#include <string>

#include "report.hpp"

// Two sets of ten items: of the largest one, weights 0.5 and 0.25 under plain softmax.
int main() {
  using namespace retrieval;
  weight_map map{std::vector<double>(20, 0.05), std::vector<double>(20, 0.01)};
  map.plain[0] = 0.5, map.plain[10] = 0.25;
  map.adaptive[0] = 0.9, map.adaptive[10] = 0.8;
  seed_result r;
  r.maps = {map, map};
  auto const svg = map_svg({16, 32}, r);
  bool right = true;
  for (auto const* what : {">0.38</text>", ">0.85</text>", ">32 items</text>"})
    if (svg.find(what) == std::string::npos)
      right = false, std::printf("the map must say %s\n", what);
  return right ? 0 : 1;
}
