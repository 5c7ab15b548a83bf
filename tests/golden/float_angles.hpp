#pragma once

/// Rows as angles in float give them: positions of 1e3, 2^17 - 1 and 2^20 - 1; head_dim 128.
/// Derivation: w = float(base^(-2i/128)) [Su 2021, section 3.2.2]; angle = float(float(position) *
/// w), the product exact in f64 and rounded once; cosine and sine of that very float by their
/// Taylor series with 80 decimal digits after reduction by 2 pi, rounded to float. With Python's
/// struct and decimal.

#include <array>
#include <cstddef>

namespace golden {

struct float_angle {
  int base;
  int position;
  std::size_t pair;
  float inv_freq;
  float angle;
  float cos;
  float sin;
};

inline constexpr std::array<float_angle, 24> float_angles{{
    {10000, 1000, 0, 0x1.000000p+0f, 0x1.f40000p+9f, 0x1.1ff026p-1f, 0x1.a75cc2p-1f},
    {10000, 1000, 1, 0x1.bb5faep-1f, 0x1.b0fb70p+9f, 0x1.c28ad2p-2f, -0x1.cbc77ap-1f},
    {10000, 1000, 17, 0x1.62b2f0p-4f, 0x1.5a62bep+6f, 0x1.9c26f2p-3f, -0x1.f5865cp-1f},
    {10000, 1000, 31, 0x1.7a6622p-7f, 0x1.7187bep+3f, 0x1.0c9870p-1f, -0x1.b3e3f4p-1f},
    {10000, 131071, 0, 0x1.000000p+0f, 0x1.ffff00p+16f, -0x1.a2cebcp-1f, -0x1.268614p-1f},
    {10000, 131071, 1, 0x1.bb5faep-1f, 0x1.bb5ed0p+16f, -0x1.f496d4p-1f, -0x1.adf784p-3f},
    {10000, 131071, 17, 0x1.62b2f0p-4f, 0x1.62b23ep+13f, -0x1.ea08a0p-1f, 0x1.28b8d4p-2f},
    {10000, 131071, 31, 0x1.7a6622p-7f, 0x1.7a6564p+10f, 0x1.936592p-1f, -0x1.3b4d32p-1f},
    {10000, 1048575, 0, 0x1.000000p+0f, 0x1.ffffe0p+19f, 0x1.937a46p-1f, -0x1.3b32b2p-1f},
    {10000, 1048575, 1, 0x1.bb5faep-1f, 0x1.bb5f92p+19f, 0x1.96340ap-4f, 0x1.fd79e0p-1f},
    {10000, 1048575, 17, 0x1.62b2f0p-4f, 0x1.62b2dap+16f, -0x1.5deadep-3f, -0x1.f878acp-1f},
    {10000, 1048575, 31, 0x1.7a6622p-7f, 0x1.7a660ap+13f, 0x1.f776f4p-2f, 0x1.bdd77ap-1f},
    {500000, 1000, 0, 0x1.000000p+0f, 0x1.f40000p+9f, 0x1.1ff026p-1f, 0x1.a75cc2p-1f},
    {500000, 1000, 1, 0x1.a11582p-1f, 0x1.974f00p+9f, -0x1.2c0766p-1f, -0x1.9ee1aap-1f},
    {500000, 1000, 17, 0x1.f5ea7ep-6f, 0x1.ea2700p+4f, 0x1.6b7b40p-1f, -0x1.689712p-1f},
    {500000, 1000, 31, 0x1.c71820p-10f, 0x1.bc6d90p+0f, -0x1.50e50ep-3f, 0x1.f9066ep-1f},
    {500000, 131071, 0, 0x1.000000p+0f, 0x1.ffff00p+16f, -0x1.a2cebcp-1f, -0x1.268614p-1f},
    {500000, 131071, 1, 0x1.a11582p-1f, 0x1.a114b2p+16f, -0x1.a26c36p-1f, 0x1.2711fap-1f},
    {500000, 131071, 17, 0x1.f5ea7ep-6f, 0x1.f5e984p+11f, 0x1.e25b2ep-1f, 0x1.575fe2p-2f},
    {500000, 131071, 31, 0x1.c71820p-10f, 0x1.c7173cp+7f, 0x1.bf1c12p-3f, 0x1.f3a652p-1f},
    {500000, 1048575, 0, 0x1.000000p+0f, 0x1.ffffe0p+19f, 0x1.937a46p-1f, -0x1.3b32b2p-1f},
    {500000, 1048575, 1, 0x1.a11582p-1f, 0x1.a11568p+19f, 0x1.6e3120p-1f, 0x1.65d656p-1f},
    {500000, 1048575, 17, 0x1.f5ea7ep-6f, 0x1.f5ea5ep+14f, -0x1.f67c40p-1f, 0x1.88fcdcp-3f},
    {500000, 1048575, 31, 0x1.c71820p-10f, 0x1.c71804p+10f, -0x1.6a03b6p-3f, -0x1.f7f006p-1f},
}};

}  // namespace golden
