#include <cmath>
#include <cstdint>

#include "cases.hpp"

namespace conformance {

char const* name_of(precision p) {
  switch (p) {
    case precision::float64:
      return "float64";
    case precision::float32:
      return "float32";
    case precision::float16:
      return "float16";
    case precision::bfloat16:
      return "bfloat16";
  }
  return "";
}

double unit_roundoff(precision p) {
  switch (p) {
    case precision::float64:
      return 0x1p-53;
    case precision::float32:
      return 0x1p-24;
    case precision::float16:
      return 0x1p-11;
    case precision::bfloat16:
      return 0x1p-8;
  }
  return 0;
}

double rounded(double x, precision p) {
  if (p == precision::float64) return x;
  if (p == precision::float32) return static_cast<double>(static_cast<float>(x));
  int exponent = 0;
  std::frexp(x, &exponent);
  // Half has no digits below 2^-24.
  bool const is_half = p == precision::float16;
  auto const digits = is_half && exponent < -13 ? exponent + 24 : is_half ? 11 : 8;
  auto const step = std::ldexp(1.0, exponent - digits);
  return std::nearbyint(x / step) * step;
}

double test_case::setting(std::string const& key, double otherwise) const {
  auto const found = settings.find(key);
  return found == settings.end() || found->second.size() != 1 ? otherwise : found->second.front();
}

}  // namespace conformance
