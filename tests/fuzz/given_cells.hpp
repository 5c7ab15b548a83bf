#pragma once

/// Given masks of any type, shape and strides, in memory of exactly their size, and what they say.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "posenc/attention/given_mask.hpp"
#include "posenc/heads/storage.hpp"

namespace fuzz {

/// A block of the heap that ends where its numbers end. A vector's may be longer.
template <class T>
struct exact {
  explicit exact(std::size_t n, T const& each = {}) : size(n), data(new T[n]) {
    std::fill_n(data.get(), n, each);
  }
  std::span<T> all() const { return {data.get(), size}; }
  bool holds(std::vector<T> const& others) const {
    return others.size() == size &&
           (size == 0 || std::memcmp(others.data(), data.get(), size * sizeof(T)) == 0);
  }
  std::vector<T> copy() const { return {data.get(), data.get() + size}; }
  std::size_t size;
  std::unique_ptr<T[]> data;
};

class given_cells {
 public:
  /// wild: biases may be anything.
  given_cells(FuzzedDataProvider& data, std::size_t queries, std::size_t heads, std::size_t keys,
              bool wild)
      : queries_(queries), heads_(std::max<std::size_t>(heads, 1)), keys_(keys) {
    auto const any = [&](std::ptrdiff_t least, std::ptrdiff_t most) {
      return data.ConsumeIntegralInRange<std::ptrdiff_t>(least, most);
    };
    auto const more = [&] {
      return static_cast<std::size_t>(std::max<std::ptrdiff_t>(any(-6, 2), 0));
    };
    shape_ = {queries + more(), data.ConsumeBool() ? heads_ : 1, keys + more()};
    auto const type = any(0, 6);
    if (type == 0) fill<bool>(data, wild);
    if (type == 1) fill<unsigned char>(data, wild);
    if (type == 2) fill<float>(data, wild);
    if (type == 3) fill<double>(data, wild);
    if (type == 4) fill<posenc::half>(data, wild);
    if (type == 5) fill<posenc::bfloat16>(data, wild);
    if (type == 6) fill_bits(data);
  }

  posenc::given_mask const& made() const { return *mask_; }
  /// -infinity if the key is hidden; heads: of the call.
  double bias(std::size_t t, std::size_t head, std::size_t s) const {
    auto const of_head = shape_.heads == 1 ? 0 : head;
    auto const bias = biases_[(of_head * queries_ + t) * keys_ + s];
    return bias == hidden || slopes_.size == 0 ? bias : slopes_.data[head] * bias;
  }
  bool is_unchanged() const { return memory_.holds(before_); }

 private:
  static constexpr double hidden = -std::numeric_limits<double>::infinity();

  std::uint64_t next() {
    return (seed_ = seed_ * 6364136223846793005u + 1442695040888963407u) >> 11;
  }

  /// Strides that lay out rows of `width`, and how far the cells reach from the first one.
  void lay_out(FuzzedDataProvider& data, std::ptrdiff_t width, std::ptrdiff_t of_key) {
    auto const pad = data.ConsumeIntegralInRange<std::ptrdiff_t>(0, 3);
    auto const q = static_cast<std::ptrdiff_t>(shape_.queries);
    steps_ = {width + pad, q * (width + pad), of_key};
    switch (data.ConsumeIntegralInRange(0, 7)) {
      case 0:
        steps_ = {-(width + pad), -q * (width + pad), of_key};
        break;
      case 1:
        steps_.query = 0, steps_.head = width;
        break;
      case 2:
        steps_.head = 0;
        break;
      case 3:
        steps_.head = width, steps_.query = width * static_cast<std::ptrdiff_t>(shape_.heads);
        break;
      case 4:
        steps_.query = data.ConsumeIntegralInRange<std::ptrdiff_t>(-9, 9);
        steps_.head = data.ConsumeIntegralInRange<std::ptrdiff_t>(-9, 9);
        break;
      default:
        break;
    }
    from_ = 0, to_ = 0;
    auto const reach = [&](std::size_t count, std::ptrdiff_t stride) {
      auto const way = (static_cast<std::ptrdiff_t>(count) - 1) * stride;
      from_ += std::min<std::ptrdiff_t>(way, 0), to_ += std::max<std::ptrdiff_t>(way, 0);
    };
    reach(shape_.queries, steps_.query), reach(shape_.heads, steps_.head);
    if (of_key != bits_per_byte) reach(shape_.keys, of_key);
  }
  static constexpr std::ptrdiff_t bits_per_byte = 8;  // in place of a stride of keys

  /// The place of a cell, in cells or bytes, the key left out.
  std::size_t row(std::size_t t, std::size_t head) const {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(t) * steps_.query +
                                    static_cast<std::ptrdiff_t>(head) * steps_.head - from_);
  }
  bool has_cells() const { return shape_.queries != 0 && shape_.keys != 0; }

  /// Shows and hides: cells at random, or an interval of each row, or a key here and there.
  void for_cells(FuzzedDataProvider& data, auto const& write) {
    seed_ = data.ConsumeIntegral<std::uint64_t>();
    auto const how = data.ConsumeIntegralInRange(0, 3);
    auto const rate = data.ConsumeIntegralInRange<std::uint64_t>(0, 100);
    for (std::size_t head = 0; head < shape_.heads; ++head)
      for (std::size_t t = 0; t < shape_.queries; ++t) {
        auto const first = next() % shape_.keys, last = first + next() % shape_.keys;
        for (std::size_t s = 0; s < shape_.keys; ++s)
          write(t, head, s,
                how < 2    ? next() % 100 < rate
                : how == 2 ? first <= s && s <= last
                           : next() % 300 == 0);
      }
  }
  void keep(auto const& bias_of) {
    before_ = memory_.copy();
    for (std::size_t head = 0; head < shape_.heads; ++head)
      for (std::size_t t = 0; t < queries_; ++t)
        for (std::size_t s = 0; s < keys_; ++s) biases_.push_back(bias_of(t, head, s));
  }

  template <class T>
  void fill(FuzzedDataProvider& data, bool wild) {
    auto const of_key = std::array<std::ptrdiff_t, 8>{
        1, 1, 1, 1, 1, 2, -1, 0}[data.ConsumeIntegralInRange<unsigned>(0, 7)];
    lay_out(data, static_cast<std::ptrdiff_t>(shape_.keys) * std::max<std::ptrdiff_t>(of_key, 1),
            of_key);
    memory_ =
        exact<std::byte>(has_cells() ? static_cast<std::size_t>(to_ - from_ + 1) * sizeof(T) : 0);
    auto* const cells = reinterpret_cast<T*>(memory_.data.get());
    auto const at = [&](std::size_t t, std::size_t head, std::size_t s) -> T& {
      return cells[static_cast<std::ptrdiff_t>(row(t, head)) +
                   static_cast<std::ptrdiff_t>(s) * of_key];
    };
    bool const plain = data.ConsumeBool();  // biases of 0
    if (has_cells())
      for_cells(data, [&](std::size_t t, std::size_t head, std::size_t s, bool is_seen) {
        if constexpr (sizeof(T) == 1) {
          at(t, head, s) =
              static_cast<T>(is_seen ? std::same_as<T, bool> ? 1 : next() % 255 + 1 : 0);
        } else {
          auto const x = is_seen ? plain ? 0 : number(wild) : hidden;
          posenc::store(at(t, head, s), static_cast<posenc::arithmetic_t<T>>(x));
        }
      });
    auto* const first = has_cells() ? cells - from_ : nullptr;
    mask_.emplace(static_cast<T const*>(first), shape_, steps_);
    keep([&](std::size_t t, std::size_t head, std::size_t s) -> double {
      if constexpr (sizeof(T) == 1) {
        return at(t, head, s) ? 0 : hidden;
      } else {
        return posenc::load(at(t, head, s));
      }
    });
    if (sizeof(T) == 1 || data.ConsumeBool()) return;
    slopes_ = exact<double>(heads_);
    for (auto& slope : slopes_.all()) slope = data.ConsumeFloatingPointInRange(-1.0, 1.0);
    mask_ = mask_->with_slopes(slopes_.all());
  }
  void fill_bits(FuzzedDataProvider& data) {
    lay_out(data, static_cast<std::ptrdiff_t>(shape_.keys + 7) / 8, bits_per_byte);
    auto const of_row = static_cast<std::ptrdiff_t>(shape_.keys + 7) / 8;
    memory_ = exact<std::byte>(has_cells() ? static_cast<std::size_t>(to_ - from_ + of_row) : 0);
    if (has_cells())
      for_cells(data, [&](std::size_t t, std::size_t head, std::size_t s, bool is_seen) {
        auto& byte = memory_.data[row(t, head) + s / 8];
        byte = (byte & ~(std::byte{1} << s % 8)) | (std::byte{is_seen} << s % 8);
      });
    steps_.key = 1;
    mask_ = posenc::given_mask::bits(has_cells() ? memory_.data.get() - from_ : nullptr, shape_,
                                     steps_);
    keep([&](std::size_t t, std::size_t head, std::size_t s) {
      return (memory_.data[row(t, head) + s / 8] >> s % 8 & std::byte{1}) == std::byte{} ? hidden
                                                                                         : 0;
    });
  }
  double number(bool wild) {
    auto const x = next();
    if (wild && x % 64 == 0)
      return std::array{std::numeric_limits<double>::quiet_NaN(), -hidden, -65504.0, 1e30,
                        -1e38}[next() % 5];
    return static_cast<double>(x % 4096) / 512 - 4;
  }

  std::size_t queries_, heads_, keys_;  // of the call
  posenc::given_mask::shape shape_ = {};
  posenc::given_mask::strides steps_ = {};
  std::ptrdiff_t from_ = 0, to_ = 0;
  std::uint64_t seed_ = 0;
  exact<std::byte> memory_{0};
  std::vector<std::byte> before_;
  exact<double> slopes_{0};
  std::vector<double> biases_;  // [heads of the mask][queries][keys] of the call
  std::optional<posenc::given_mask> mask_;
};

}  // namespace fuzz
