#!/usr/bin/env python3
"""Whether mutants.py changes numbers and statements whole, and leaves declarations alone: what it did otherwise did not compile."""
import sys

sys.dont_write_bytecode = True  # beside the sources
from mutants import sites

HEADER = """\
namespace n {

template <class T>
struct shape {
  integers kind[2];
  heads_view<float const> key_side = {nullptr, {0, 1, 1}};
  T *queries = nullptr, *sums = nullptr;
  void (*run_)(void const*, std::size_t) noexcept;
  run_time<
      T> more;
  shape(shape const&) = delete;

  void reset(std::uint32_t bits) {
    struct part {
      piece first = {};
    };
    number own[3], all(bits);
    scratch memory(own);
    heads_view<T const> computed = {nullptr, {0, 1, 1}};
    if (bits > 0x7f80'0000u) kind[0] = 0u;
    kind[1] = 0x7fu + 1'000u;
    queries += 24u;
    computed.fill(1.5f);
    std::fill(queries, sums, 2);
  }
};

template <class T>
void clear(T* numbers) {
  numbers[0] = 0x80;
}

}  // namespace n
"""
CHANGED = {
    "constant": ["2", "0", "1", "1", "3", "0", "1", "1", "0x7f80'0000u", "0", "0u", "1", "0x7fu", "1'000u", "24u", "1.5f", "2", "0", "0x80"],
    "statement": ["if (bits > 0x7f80'0000u) kind[0] = 0u;", "kind[1] = 0x7fu + 1'000u;", "queries += 24u;", "computed.fill(1.5f);",
                  "std::fill(queries, sums, 2);", "numbers[0] = 0x80;"],
}


def main():
    failed = False
    for kind, expected in CHANGED.items():
        found = [(first, HEADER[first:last]) for its, first, last, _ in sites(HEADER) if its == kind]
        found = [text for _, text in sorted(found)]
        if found != expected:
            print(f"{kind}s must be {expected}, got {found}")
            failed = True
    changes = {HEADER[first:last]: to for kind, first, last, to in sites(HEADER) if kind == "constant"}
    for number, expected in {"0x7f80'0000u": ["(0x7f80'0000u + 1)", "(0x7f80'0000u - 1)", "(0x7f80'0000u * 2)"],
                             "0u": ["(0u + 1)", "(0u - 1)"], "1.5f": ["(1.5f + 1.0f)", "(1.5f - 1.0f)", "(1.5f * 2.0f)"]}.items():
        if changes.get(number) != expected:
            print(f"{number} must become {expected}, got {changes.get(number)}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
