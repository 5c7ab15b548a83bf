// The formats of posenc.h, chosen at run time.
#pragma once

#include "posenc/c/detail/plans.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

/// Calls act(format), with a format of the library, but not doubles, which no cache has.
template <class Act>
auto with_format(posenc_c::stored_heads const& s, Act const& act) {
  switch (s.format) {
    case POSENC1_F32:
      return act(numbers_of<float>());
    case POSENC1_F16:
      return act(numbers_of<half>());
    case POSENC1_BF16:
      return act(numbers_of<bfloat16>());
    case POSENC1_U8_PER_HEAD:
      return act(u8_per_head());
    case POSENC1_Q8_0:
      return act(q8_0{q8_0_writer::reference});
    case POSENC1_Q8_0_AVX2:
      return act(q8_0{q8_0_writer::avx2});
    case POSENC1_INT8_PER_HEAD:
      return act(int8_per_head{false});
    case POSENC1_INT8_PER_HEAD_TRUNCATED:
      return act(int8_per_head{true});
    case POSENC1_INT8_STATIC:
      return act(int8_static{s.scale});
    case POSENC1_E4M3:
      return act(e4m3{s.scale, s.inverse, e4m3_rounding::nearest});
    case POSENC1_E4M3_TRUNCATED:
      return act(e4m3{s.scale, s.inverse, e4m3_rounding::towards_zero});
    case POSENC1_DEEPSEEK_V4:
      return act(deepseek_v4::of_cuda());
    case POSENC1_Q4_0:
      return act(q4_0());
    case POSENC1_INT4_PER_HEAD:
      return act(int4_per_head());
    case POSENC1_INT4_STATIC:
      return act(int4_static{s.scale});
    case POSENC1_Q4_1:
      return act(q4_1());
    case POSENC1_Q5_0:
      return act(q5_0());
    case POSENC1_Q5_1:
      return act(q5_1());
    case POSENC1_IQ4_NL:
      return act(iq4_nl());
    default:
      return act(deepseek_v4::of_cpus());
  }
}

}}}  // namespace posenc::detail::c
