// The C API: errors, the version, the instruction set, and rows.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "checked.hpp"
#include "handles.hpp"
#include "posenc/version.hpp"

namespace posenc_kernels {
namespace {

thread_local char sentence_of_thread[1024] = "";

void make(posenc::frequencies const& f, posenc::frequencies const* to, std::int64_t table_range,
          posenc1_row_maker** result) {
  auto const& set = chosen_set();
  auto made =
      std::make_unique<posenc1_row_maker>(posenc1_row_maker{&set, nullptr, to != nullptr, {}});
  auto const target = list_of(to == nullptr ? f : *to);
  made->rows =
      set.make_rows(list_of(f), to == nullptr ? nullptr : &target, table_range, made->rotated);
  *result = made.release();
}

}  // namespace

posenc1_status failed(posenc1_status status, char const* sentence) noexcept {
  std::snprintf(sentence_of_thread, sizeof sentence_of_thread, "%s", sentence);
  return status;
}

}  // namespace posenc_kernels

using namespace posenc_kernels;

char const* posenc1_error() { return sentence_of_thread; }

char const* posenc1_version() {
  return POSENC_KERNELS_TEXT(POSENC_VERSION_MAJOR) "." POSENC_KERNELS_TEXT(
      POSENC_VERSION_MINOR) "." POSENC_KERNELS_TEXT(POSENC_VERSION_PATCH);
}

char const* posenc1_instruction_set() {
  char const* name = nullptr;
  guarded([&] { name = chosen_set().name; });
  return name;
}

posenc1_status posenc1_row_maker_create(posenc1_frequencies const* f, int64_t table_range,
                                        posenc1_row_maker** result) {
  return guarded([&] {
    require_given("posenc1_row_maker_create", f, result);
    make(f->value, nullptr, table_range, result);
  });
}

posenc1_status posenc1_rerotation_create(posenc1_frequencies const* from,
                                         posenc1_frequencies const* to,
                                         posenc1_row_maker** result) {
  return guarded([&] {
    require_given("posenc1_rerotation_create", from, result);
    auto const pairs = from->value.pairs();
    auto const target = to != nullptr ? to->value : posenc::frequencies(std::vector(pairs, 0.0));
    require(target.pairs() == pairs,
            "posenc1_rerotation_create: both frequencies must have the same number "
            "of pairs, got ",
            pairs, " and ", target.pairs());
    make(from->value, &target, 0, result);
  });
}

posenc1_status posenc1_write_rows(posenc1_row_maker const* maker, int64_t const* positions,
                                  int64_t const* from_positions, size_t tokens, posenc1_type type,
                                  void* memory) {
  return guarded([&] {
    constexpr auto function = "posenc1_write_rows";
    require_given(function, maker);
    if (tokens != 0) require_given(function, positions, memory);
    require(maker->rerotates || from_positions == nullptr, function,
            ": from_positions must be null for a maker that does not rerotate");
    auto const bits = bits_of(type);
    require(bits == 0u + POSENC1_F32 || bits == 0u + POSENC1_F64, function,
            ": type must be POSENC1_F32 or POSENC1_F64, got ", bits);
    require_aligned(function, "memory", memory, bits == 0u + POSENC1_F64 ? 8 : 4);
    maker->set->write_rows(*maker->rows, positions, from_positions, tokens,
                           bits == 0u + POSENC1_F64, memory);
  });
}

void posenc1_row_maker_destroy(posenc1_row_maker* maker) {
  if (maker == nullptr) return;
  maker->set->destroy_rows(maker->rows);
  delete maker;
}
