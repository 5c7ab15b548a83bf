// The objects behind the handles of the C API, and how errors leave it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "posenc/c/detail/plans.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

struct posenc1_frequencies {
  posenc::frequencies value;
  std::vector<std::size_t> axis_of_pair = {};  ///< empty: one axis
};

struct posenc1_row_maker {
  posenc_c::instruction_set const* set;
  posenc_c::rows_plan rotated;  ///< of no rows
  std::size_t heads;            ///< that have their own rows
  posenc_c::rows_of_set* rows;
  std::size_t axes;  ///< of positions
  bool rerotates;
};

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

using namespace posenc_c;

/// An error with another status than a wrong argument's.
struct failure : std::runtime_error {
  posenc1_status status;
  failure(posenc1_status of, std::string const& sentence) : runtime_error(sentence), status(of) {}
};

inline frequency_list list_of(posenc::frequencies const& f) noexcept {
  return {f.inv_freq().data(), f.rest().data(), f.pairs(), f.attention_factor(), nullptr};
}
inline frequency_list list_of(posenc1_frequencies const& f) noexcept {
  auto list = list_of(f.value);
  if (!f.axis_of_pair.empty()) list.axis_of_pair = f.axis_of_pair.data();
  return list;
}

/// The number of axes of the positions at which rows are made.
inline std::size_t axes_of(posenc1_frequencies const& f) noexcept {
  std::size_t axes = 1;
  for (auto const axis : f.axis_of_pair) axes = std::max(axes, axis + 1);
  return axes;
}

/// axis_of_pair of posenc::pair_axes.
std::vector<std::size_t> listed(auto const& axes) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; axes.axes() > 1 && i < axes.pairs(); ++i) result.push_back(axes.axis(i));
  return result;
}

/// Those of an argument from C, which may be none of its enumerators: to read it as one is
/// undefined.
inline std::uint32_t bits_of(auto const& enumerator) noexcept {
  std::uint32_t bits;
  static_assert(sizeof bits == sizeof enumerator);
  std::memcpy(&bits, &enumerator, sizeof bits);
  return bits;
}

/// For posenc1_error.
inline thread_local char sentence_of_thread[1024] = "";

/// Keeps the sentence for posenc1_error and returns the status.
inline posenc1_status failed(posenc1_status status, char const* sentence) noexcept {
  std::snprintf(sentence_of_thread, sizeof sentence_of_thread, "%s", sentence);
  return status;
}

/// Runs work; what it throws becomes a status.
posenc1_status guarded(auto const& work) noexcept {
  try {
    work();
    return POSENC1_OK;
  } catch (std::invalid_argument const& e) {
    return failed(POSENC1_INVALID_ARGUMENT, e.what());
  } catch (failure const& e) {
    return failed(e.status, e.what());
  } catch (std::bad_alloc const&) {
    return failed(POSENC1_OUT_OF_MEMORY, "posenc: there is not enough memory");
  } catch (std::exception const& e) {
    return failed(POSENC1_FAILED, e.what());
  } catch (...) {
    return failed(POSENC1_FAILED, "posenc: an unknown exception");
  }
}

/// An argument, by its name.
struct argument {
  char const* name;
  void const* pointer;
};
inline void require_given(char const* function, std::initializer_list<argument> arguments) {
  for (auto const& [name, pointer] : arguments)
    require(pointer != nullptr, function, ": ", name, " must not be null");
}

/// Rows, of the pairs that their maker rotates; without one, of all.
inline rows_plan rows_of(posenc1_row_maker const* maker, void const* cos_sin, std::size_t pairs,
                         pair_range const& all) noexcept {
  auto rows = maker == nullptr ? rows_plan{nullptr, pairs, 1, &all} : maker->rotated;
  rows.cos_sin = cos_sin;
  return rows;
}

}}}  // namespace c
