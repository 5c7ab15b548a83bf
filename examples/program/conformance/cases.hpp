// The cases of the conformance set, and what an engine answers to them.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace conformance {

using numbers = std::vector<double>;

/// In what an engine answers: null. No number of a dump is as large.
inline constexpr double not_given = std::numeric_limits<double>::max();

/// By field: inv_freq, attention_factor, cos, sin, rotated; slopes, bias, buckets, capped, factors.
/// Tables lie row after row.
using answers = std::map<std::string, numbers>;

enum class precision { float64, float32, float16, bfloat16 };
char const* name_of(precision p);
double unit_roundoff(precision p);  ///< 2^-53, 2^-24, 2^-11, 2^-8
double rounded(double x, precision p);

/// tests/conformance/README.md says what each field means.
struct test_case {
  std::string name, covers;
  bool is_rotary = true;
  std::string parameters = {};  ///< as JSON: rope_parameters, or those of a case about scores
  std::string type = {};        ///< rope_type, or what the case about scores encodes by
  std::map<std::string, numbers> settings = {};  ///< the parameters that are numbers or lists
  double length = 0, trained = 0;                ///< 0: not given
  std::size_t head_dim = 0, first_dim = 0, blocks = 1;
  bool is_interleaved = false;
  std::vector<std::array<std::size_t, 2>> pairs = {};
  std::vector<std::size_t> axis_of_pair = {};  ///< one for each pair
  std::vector<numbers> positions = {};         ///< [tokens][axes]
  std::vector<numbers> input = {};             ///< [tokens][head_dim]
  numbers distances = {}, scores = {};         ///< of cases about scores
  answers expected = {};
  std::map<std::string, std::size_t> columns = {};  ///< of the fields that are tables

  std::size_t axes() const { return positions.empty() ? 1 : positions.front().size(); }
  /// A setting that is a number, or `otherwise`.
  double setting(std::string const& key, double otherwise) const;
};

struct dump {
  std::string engine;
  precision stored = precision::float32;
  std::map<std::string, answers> cases;
};

/// All of a folder, by name. These throw std::runtime_error in one sentence, which names the file.
std::vector<test_case> read_cases(std::filesystem::path const& folder);
dump read_dump(std::filesystem::path const& file, std::vector<test_case> const& cases);

void write_template(std::ostream& out, std::vector<test_case> const& cases);
void write_dump(std::ostream& out, dump const& written, std::vector<test_case> const& cases);

}  // namespace conformance
