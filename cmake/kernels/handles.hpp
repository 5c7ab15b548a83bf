// What the handles of the C API point to, and how errors leave it.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "posenc/frequency/frequencies.hpp"
#include "set.hpp"

// Of a shared library, the functions of this header alone are exported.
#if defined(POSENC_KERNELS_SHARED) && !defined(_WIN32)
#pragma GCC visibility push(default)
#include "posenc/posenc.h"
#pragma GCC visibility pop
#else
#include "posenc/posenc.h"
#endif

struct posenc1_frequencies {
  posenc::frequencies value;
};

struct posenc1_row_maker {
  posenc_kernels::instruction_set const* set;
  posenc_kernels::rows_of_set* rows;
  std::size_t pairs;
  bool rerotates;
  posenc_kernels::pair_range const* rotated;
  std::size_t rotated_count;
};

namespace posenc_kernels {

/// Those of an argument from C, which may be none of its enumerators: to read it as one is
/// undefined.
inline std::uint32_t bits_of(auto const& enumerator) noexcept {
  std::uint32_t bits;
  static_assert(sizeof bits == sizeof enumerator);
  std::memcpy(&bits, &enumerator, sizeof bits);
  return bits;
}

using posenc::detail::require;

/// Keeps the sentence for posenc1_error and returns the status.
posenc1_status failed(posenc1_status status, char const* sentence) noexcept;

struct not_built : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Runs work; what it throws becomes a status.
posenc1_status guarded(auto const& work) noexcept {
  try {
    work();
    return POSENC1_OK;
  } catch (std::invalid_argument const& e) {
    return failed(POSENC1_INVALID_ARGUMENT, e.what());
  } catch (no_instruction_set const& e) {
    return failed(POSENC1_NO_INSTRUCTION_SET, e.what());
  } catch (not_built const& e) {
    return failed(POSENC1_NOT_BUILT, e.what());
  } catch (std::bad_alloc const&) {
    return failed(POSENC1_OUT_OF_MEMORY, "posenc: there is not enough memory");
  } catch (std::exception const& e) {
    return failed(POSENC1_FAILED, e.what());
  } catch (...) {
    return failed(POSENC1_FAILED, "posenc: an unknown exception");
  }
}

template <class... Handles>
void require_given(char const* function, Handles const*... handles) {
  require(((handles != nullptr) && ...), function,
          ": handles, arrays and results must not be null");
}

/// posenc1_rotate, which throws.
void rotate(posenc1_rotation const& r, std::size_t first, std::size_t last);

/// Gives a new handle to the caller.
inline void give(posenc::frequencies value, posenc1_frequencies** result) {
  *result = new posenc1_frequencies{std::move(value)};
}

}  // namespace posenc_kernels
