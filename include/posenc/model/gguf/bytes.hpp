// The bytes of a GGUF file. No length in it is trusted; each error names the file and what was
// read.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

class gguf_bytes {
 public:
  gguf_bytes(std::istream& in, std::string file)
      : in_(&in), origin_(in.tellg()), file_(std::move(file)) {}
  gguf_bytes(std::span<std::byte const> memory, std::string file)
      : memory_(memory), file_(std::move(file)) {}

  /// The longest header, in bytes. Large models have about 10 MB, mostly their vocabulary.
  static constexpr std::uint64_t most_header = std::uint64_t{1} << 30;

  std::string const& file() const noexcept { return file_; }
  std::uint64_t at() const noexcept { return at_; }

  /// Sets the subject of errors: what is read from here on.
  void subject(std::string what) { subject_ = std::move(what); }

  template <class... Parts>
  [[noreturn]] void refuse(Parts const&... parts) const {
    detail::refuse(file_, ": ", subject_, " must ", parts...);
  }
  template <class... Parts>
  void require(bool holds, Parts const&... parts) const {
    if (!holds) refuse(parts...);
  }

  /// A little-endian number.
  template <class T>
  T number() {
    std::array<std::byte, sizeof(T)> raw{};
    take(raw);
    return decoded<T>(raw.data());
  }

  template <class T>
  static T decoded(std::byte const* raw) {
    if constexpr (std::floating_point<T>) {
      using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      return std::bit_cast<T>(decoded<bits>(raw));
    } else {
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < sizeof(T); ++i) {
        bits |= std::to_integer<std::uint64_t>(raw[i]) << (8 * i);
      }
      return static_cast<T>(bits);
    }
  }

  /// Calls use(piece) for the next `size` bytes, piece by piece, so that a caller who keeps them
  /// allocates what the file holds and not what a length claims.
  void pieces(std::uint64_t size, auto const& use) {
    require(at_ <= most_header && size <= most_header - at_, "lie within the first ", most_header,
            " bytes of the file, got ", size, " bytes at byte ", at_);
    std::array<std::byte, 4096> piece;
    while (size > 0) {
      auto const part = std::span(piece).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(size, piece.size())));
      take(part);
      use(std::span<std::byte const>(part));
      size -= part.size();
    }
  }

  void skip(std::uint64_t size) {
    pieces(size, [](std::span<std::byte const>) {});
  }

  /// A string, which begins with its length: at most `most` bytes of it, and the length.
  std::pair<std::string, std::uint64_t> text(std::uint64_t most) {
    auto const size = number<std::uint64_t>();
    std::string result;
    pieces(size, [&](std::span<std::byte const> piece) {
      auto const kept = std::min<std::uint64_t>(piece.size(), most - result.size());
      result.append(reinterpret_cast<char const*>(piece.data()), static_cast<std::size_t>(kept));
    });
    return {std::move(result), size};
  }

  /// Moves forward to a byte, counted from the beginning of the file.
  void move_to(std::uint64_t offset) {
    if (in_ == nullptr) return void(at_ = offset);
    if (origin_ != std::istream::pos_type(-1) && in_->seekg(0, std::ios::end)) {
      auto const size = static_cast<std::uint64_t>(in_->tellg() - origin_);
      if (offset > size) end(size);
      in_->seekg(origin_ + static_cast<std::streamoff>(offset));
      at_ = offset;
    } else {
      in_->clear();
      while (at_ < offset) {
        in_->ignore(static_cast<std::streamsize>(std::min(offset - at_, most_header)));
        at_ += static_cast<std::uint64_t>(in_->gcount());
        if (!in_->good() && at_ < offset) end(at_);
      }
    }
  }

  void take(std::span<std::byte> to) {
    if (in_ != nullptr) {
      in_->read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
      auto const got = static_cast<std::uint64_t>(in_->gcount());
      if (got != to.size()) end(at_ + got);
    } else {
      if (at_ > memory_.size() || to.size() > memory_.size() - at_) end(memory_.size());
      std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(at_), to.size(), to.begin());
    }
    at_ += to.size();
  }

 private:
  [[noreturn]] void end(std::uint64_t where) const {
    refuse("be complete, got a file that ends within it, at byte ", where);
  }

  std::istream* in_ = nullptr;
  std::istream::pos_type origin_ = {};
  std::span<std::byte const> memory_ = {};
  std::uint64_t at_ = 0;
  std::string file_, subject_ = {};
};

}  // namespace detail
}  // namespace posenc
