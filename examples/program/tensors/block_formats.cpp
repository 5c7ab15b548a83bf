#include "program/tensors/block_formats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

// Numbers are worked out exactly before one last rounding to float, so that every bit is the same
// with and without multiply-add. Loops have no branches: compilers make registers of them.
// [ggml-org/ggml, docs/gguf.md and src/ggml-common.h]
namespace program {
namespace {

using byte = unsigned char;

std::uint32_t word(byte const* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, 2);  // which loops over words load as registers
  if constexpr (std::endian::native == std::endian::big)
    bits = static_cast<std::uint16_t>(bits << 8 | bits >> 8);
  return bits;
}

// IEEE's half, of 16 bits. A subnormal is the difference of two normal floats, as a float below the
// normal ones may count as zero.
float half(std::uint32_t bits) {
  auto const magnitude = (bits & 0x7fffu) << 13;
  auto const exponent = magnitude & 0x0f800000u;
  auto const all_if = [](bool holds) { return 0u - static_cast<std::uint32_t>(holds); };
  auto const is_subnormal = all_if(exponent == 0), is_not_finite = all_if(exponent == 0x0f800000u);
  auto const normal = magnitude + (112u << 23) + (is_not_finite & 112u << 23);
  auto const subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + (113u << 23)) - 0x1p-14f);
  return std::bit_cast<float>((subnormal & is_subnormal) | (normal & ~is_subnormal) |
                              (bits & 0x8000u) << 16);
}
float half_at(byte const* at) { return half(word(at)); }

void decode_f32(byte const* from, std::size_t count, float* to) {
  if constexpr (std::endian::native == std::endian::little)
    std::memcpy(to, from, 4 * count);
  else
    for (std::size_t i = 0; i < count; ++i)
      to[i] = std::bit_cast<float>(word(from + 4 * i) | word(from + 4 * i + 2) << 16);
}
void decode_f16(byte const* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = half_at(from + 2 * i);
}
void decode_bf16(byte const* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(word(from + 2 * i) << 16);
}

// A format of blocks, each by itself.
template <std::size_t Numbers, std::size_t Bytes, void (*Block)(byte const*, float*)>
void each(byte const* from, std::size_t blocks, float* to) {
  for (std::size_t i = 0; i < blocks; ++i) Block(from + i * Bytes, to + i * Numbers);
}

float of(int code) { return static_cast<float>(code); }

// 32 numbers. Byte i of the codes has number i in its low 4 bits and number i + 16 in its high
// ones.

// half d, 16 bytes of codes: d (code - 8)
void q4_0(byte const* from, float* to) {
  auto const d = half_at(from);
  auto const* const q = from + 2;
  for (std::size_t i = 0; i < 16; ++i) to[i] = d * of((q[i] & 15) - 8);
  for (std::size_t i = 0; i < 16; ++i) to[i + 16] = d * of((q[i] >> 4) - 8);
}
// half d, half m, 16 bytes of codes: d code + m
void q4_1(byte const* from, float* to) {
  auto const d = half_at(from), m = half_at(from + 2);
  auto const* const q = from + 4;
  for (std::size_t i = 0; i < 16; ++i) to[i] = d * of(q[i] & 15) + m;
  for (std::size_t i = 0; i < 16; ++i) to[i + 16] = d * of(q[i] >> 4) + m;
}

// Bit i of 4 bytes is the bit above the 4 of code i.
int fifth(std::uint32_t bits, std::size_t i) { return static_cast<int>(bits >> i & 1u) << 4; }
// half d, 4 bytes of fifth bits, 16 of codes: d (code - 16)
void q5_0(byte const* from, float* to) {
  auto const d = half_at(from);
  auto const high = word(from + 2) | word(from + 4) << 16;
  auto const* const q = from + 6;
  for (std::size_t i = 0; i < 16; ++i) to[i] = d * of(((q[i] & 15) | fifth(high, i)) - 16);
  for (std::size_t i = 0; i < 16; ++i)
    to[i + 16] = d * of(((q[i] >> 4) | fifth(high, i + 16)) - 16);
}
// half d, half m, 4 bytes of fifth bits, 16 of codes: d code + m
void q5_1(byte const* from, float* to) {
  auto const d = half_at(from), m = half_at(from + 2);
  auto const high = word(from + 4) | word(from + 6) << 16;
  auto const* const q = from + 8;
  for (std::size_t i = 0; i < 16; ++i) to[i] = d * of((q[i] & 15) | fifth(high, i)) + m;
  for (std::size_t i = 0; i < 16; ++i) to[i + 16] = d * of((q[i] >> 4) | fifth(high, i + 16)) + m;
}
// half d, 32 signed codes: d code
void q8_0(byte const* from, float* to) {
  auto const d = half_at(from);
  for (std::size_t i = 0; i < 32; ++i) to[i] = d * of(static_cast<signed char>(from[2 + i]));
}

// 256 numbers, with a scale, or a scale and a least value, for each part of 16 or 32.

// 16 bytes (scale in the low 4 bits, least above), 64 bytes of codes, half d, half m:
// d scale code - m least. Each 32 bytes of codes have 4 times 32 numbers, 2 bits each, the first in
// the lowest.
void q2_k(byte const* from, float* to) {
  auto const d = half_at(from + 80), m = half_at(from + 82);
  for (std::size_t part = 0; part < 16; ++part) {
    auto const step = d * of(from[part] & 15), least = m * of(from[part] >> 4);
    auto const* const q = from + 16 + 32 * (part / 8) + 16 * (part % 2);
    auto const shift = 2 * (part / 2 % 4);
    for (std::size_t i = 0; i < 16; ++i) to[16 * part + i] = step * of(q[i] >> shift & 3) - least;
  }
}

// 32 bytes of third bits, 64 of codes as above, 12 of scales, half d: d (scale - 32) code, minus 4
// where the third bit is 0. Bit b of byte i is that of number 32 b + i. Bytes 0-7 of the scales
// have the low 4 bits of scales 0-7 and, above them, of 8-15; bytes 8-11 the high 2 of each fourth.
void q3_k(byte const* from, float* to) {
  auto const d = half_at(from + 108);
  auto const* const scales = from + 96;
  for (std::size_t part = 0; part < 16; ++part) {
    auto const low = scales[part % 8] >> 4 * (part / 8) & 15;
    auto const high = scales[8 + part % 4] >> 2 * (part / 4) & 3;
    auto const step = d * of((low | high << 4) - 32);
    auto const* const q = from + 32 + 32 * (part / 8) + 16 * (part % 2);
    auto const* const third = from + 16 * (part % 2);
    auto const shift = 2 * (part / 2 % 4);
    for (std::size_t i = 0; i < 16; ++i)
      to[16 * part + i] = step * of((q[i] >> shift & 3) + 4 * (third[i] >> part / 2 & 1) - 4);
  }
}

// The scale and the least value of part 0 to 7 of Q4_K and Q5_K, of 6 bits each, in 12 bytes: bytes
// 0-3 have the scales of parts 0-3 in their low 6 bits, bytes 4-7 their least values; bytes 8-11
// the low 4 bits of the scales of parts 4-7 and, above them, of their least values, whose high 2
// bits are the high 2 of bytes 0-3 and 4-7.
struct scale_and_least {
  float scale, least;
};
scale_and_least numbers_of(byte const* scales, std::size_t part) {
  if (part < 4) return {of(scales[part] & 63), of(scales[part + 4] & 63)};
  return {of((scales[part + 4] & 15) | scales[part - 4] >> 6 << 4),
          of(scales[part + 4] >> 4 | scales[part] >> 6 << 4)};
}

// half d, half m, 12 bytes as above, 128 of codes: d scale code - m least. Each 32 bytes of codes
// have part 2i in their low 4 bits, 2i + 1 in the high ones.
void q4_k(byte const* from, float* to) {
  auto const d = half_at(from), m = half_at(from + 2);
  for (std::size_t part = 0; part < 8; ++part) {
    auto const [scale, least] = numbers_of(from + 4, part);
    auto const step = d * scale, offset = m * least;
    auto const* const q = from + 16 + 32 * (part / 2);
    auto const shift = 4 * (part % 2);
    for (std::size_t i = 0; i < 32; ++i) to[32 * part + i] = step * of(q[i] >> shift & 15) - offset;
  }
}
// The same with 32 bytes of fifth bits before the codes: bit p of byte i is that of number 32 p +
// i.
void q5_k(byte const* from, float* to) {
  auto const d = half_at(from), m = half_at(from + 2);
  for (std::size_t part = 0; part < 8; ++part) {
    auto const [scale, least] = numbers_of(from + 4, part);
    auto const step = d * scale, offset = m * least;
    auto const *const fifths = from + 16, *const q = from + 48 + 32 * (part / 2);
    auto const shift = 4 * (part % 2);
    for (std::size_t i = 0; i < 32; ++i)
      to[32 * part + i] = step * of((q[i] >> shift & 15) | (fifths[i] >> part & 1) << 4) - offset;
  }
}

// 128 bytes of low 4 bits, 64 of high 2 bits, 16 signed scales, half d: d scale (code - 32). Half
// of the block has 4 times 32 numbers: their high bits are bits 0-1, 2-3, 4-5, 6-7 of the same 32
// bytes; their low ones the low 4 bits of 32 bytes, of the next 32, then the high 4 of both.
void q6_k(byte const* from, float* to) {
  auto const d = half_at(from + 208);
  for (std::size_t part = 0; part < 16; ++part) {  // of 16 numbers
    auto const half_no = part / 8, quarter = part / 2 % 4, at = 16 * (part % 2);
    auto const* const low = from + 64 * half_no + 32 * (quarter % 2) + at;
    auto const* const high = from + 128 + 32 * half_no + at;
    auto const step = d * of(static_cast<signed char>(from[192 + part]));
    auto const low_shift = 4 * (quarter / 2), high_shift = 2 * quarter;
    for (std::size_t i = 0; i < 16; ++i)
      to[16 * part + i] =
          step * of(((low[i] >> low_shift & 15) | (high[i] >> high_shift & 3) << 4) - 32);
  }
}

// Codes of 4 bits that stand for numbers of a table.
constexpr std::array<float, 16> not_linear{-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};
constexpr std::array<float, 16> of_e2m1{0, 1, 2, 3, 4, 6, 8, 12, -0.f, -1, -2, -3, -4, -6, -8, -12};

void by_table(std::array<float, 16> const& table, float step, byte const* q, float* to) {
  for (std::size_t i = 0; i < 16; ++i) to[i] = step * table[q[i] & 15u];
  for (std::size_t i = 0; i < 16; ++i) to[i + 16] = step * table[q[i] >> 4];
}
// half d, 16 bytes of codes
void iq4_nl(byte const* from, float* to) { by_table(not_linear, half_at(from), from + 2, to); }
// half d, 2 bytes of high 2 bits and 4 of low 4 bits of 8 scales, 128 bytes of codes:
// d (scale - 32) times the number
void iq4_xs(byte const* from, float* to) {
  auto const d = half_at(from);
  auto const high = word(from + 2);
  for (std::size_t part = 0; part < 8; ++part) {
    auto const low = from[4 + part / 2] >> 4 * (part % 2) & 15;
    auto const scale = low | static_cast<int>(high >> 2 * part & 3) << 4;
    by_table(not_linear, d * of(scale - 32), from + 8 + 16 * part, to + 32 * part);
  }
}
// E8M0 e, 16 bytes of codes: 2^(e - 128) times the number, which is twice that of E2M1
void mxfp4(byte const* from, float* to) {
  auto const e = static_cast<std::uint32_t>(from[0]);
  auto const step = std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
  by_table(of_e2m1, step, from + 1, to);
}

constexpr std::array formats{block_format{0, "F32", 1, 4, decode_f32},
                             block_format{1, "F16", 1, 2, decode_f16},
                             block_format{30, "BF16", 1, 2, decode_bf16},
                             block_format{2, "Q4_0", 32, 18, each<32, 18, q4_0>},
                             block_format{3, "Q4_1", 32, 20, each<32, 20, q4_1>},
                             block_format{6, "Q5_0", 32, 22, each<32, 22, q5_0>},
                             block_format{7, "Q5_1", 32, 24, each<32, 24, q5_1>},
                             block_format{8, "Q8_0", 32, 34, each<32, 34, q8_0>},
                             block_format{10, "Q2_K", 256, 84, each<256, 84, q2_k>},
                             block_format{11, "Q3_K", 256, 110, each<256, 110, q3_k>},
                             block_format{12, "Q4_K", 256, 144, each<256, 144, q4_k>},
                             block_format{13, "Q5_K", 256, 176, each<256, 176, q5_k>},
                             block_format{14, "Q6_K", 256, 210, each<256, 210, q6_k>},
                             block_format{20, "IQ4_NL", 32, 18, each<32, 18, iq4_nl>},
                             block_format{23, "IQ4_XS", 256, 136, each<256, 136, iq4_xs>},
                             block_format{39, "MXFP4", 32, 17, each<32, 17, mxfp4>}};
constexpr std::size_t dtypes = 3;  // the first are those of safetensors, too

}  // namespace

block_format const* format_of(std::uint32_t ggml_type) {
  auto const found = std::ranges::find(formats, ggml_type, &block_format::type);
  return found == formats.end() ? nullptr : &*found;
}

block_format const* format_of(std::string_view dtype) {
  auto const end = formats.begin() + dtypes;
  auto const found = std::ranges::find(formats.begin(), end, dtype, &block_format::name);
  return found == end ? nullptr : &*found;
}

std::string format_names() {
  std::string names;
  for (auto const& format : formats)
    names.append(&format == &formats.front()  ? ""
                 : &format == &formats.back() ? " or "
                                              : ", ")
        .append(format.name);
  return names;
}

}  // namespace program
