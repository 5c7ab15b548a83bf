#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"

namespace conformance {
namespace {

using nlohmann::json;

// Arrays of numbers, and how the numbers of a table are shared out.
constexpr std::array tables{"cos", "sin", "rotated", "bias"};
constexpr std::array lists{"inv_freq", "slopes", "buckets", "capped", "factors"};
constexpr auto attention_factor = "attention_factor";

bool is_table(std::string const& field) { return std::ranges::count(tables, field) != 0; }
bool is_list(std::string const& field) { return std::ranges::count(lists, field) != 0; }

template <class... Parts>
[[noreturn]] void refuse(Parts const&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw std::runtime_error(text.str());
}

// Python writes NaN and Infinity, which are not JSON.
std::string not_json(std::string const& text) {
  std::size_t line = 1;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ++line;
    if (text[i] == '"') is_quoted = !is_quoted;
    if (is_quoted && text[i] == '\\') ++i;
    for (std::string const word : {"NaN", "Infinity"}) {
      if (!is_quoted && text.compare(i, word.size(), word) == 0)
        return "numbers must be finite, got " + word + " on line " + std::to_string(line);
    }
  }
  return "";
}

// Refuses what a parsed file no longer shows, or what nobody means.
class strict_parser {
 public:
  explicit strict_parser(std::string file) : file_(std::move(file)) {}

  bool operator()(int depth, json::parse_event_t event, json const& value) {
    if (depth > 16) refuse(file_, ": must not be nested deeper than 16");
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event != json::parse_event_t::key) return true;
    auto const& key = value.get_ref<std::string const&>();
    auto& seen = keys_.back();
    if (!seen.insert(key).second) refuse(file_, ": ", key, " is given twice in one object");
    return true;
  }

 private:
  std::string file_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

json parsed(std::filesystem::path const& path) {
  auto const file = path.string();
  std::error_code none;
  if (!std::filesystem::exists(path, none)) refuse(file, ": there is no such file");
  if (std::filesystem::is_directory(path, none)) refuse(file, ": must be a file, is a directory");
  std::ifstream in(path, std::ios::binary);
  std::string const text(std::istreambuf_iterator<char>(in), {});
  if (!in.good() && !in.eof()) refuse(file, ": cannot be read");
  try {
    strict_parser strict(file);
    return json::parse(text, std::ref(strict));
  } catch (json::exception const& error) {
    if (auto const why = not_json(text); !why.empty()) refuse(file, ": ", why);
    std::string what = error.what();
    what = what.substr(what.find("] ") == std::string::npos ? 0 : what.find("] ") + 2);
    std::ranges::replace(what, '\n', ' ');
    refuse(file, ": must be JSON: ", what);
  }
}

std::string shown(json const& value) {
  return value.is_array() ? "a list" : value.is_object() ? "an object" : value.dump().substr(0, 40);
}

double number_of(json const& value, std::string const& where) {
  if (!value.is_number()) refuse(where, " must be a number, got ", shown(value));
  auto const x = value.get<double>();
  if (!(std::abs(x) <= 1.7e308)) refuse(where, " must be finite");
  return x;
}

// Null is an answer that is not given, in dumps alone.
enum class null { refused, not_given };

numbers list_of(json const& value, std::string const& where, null nulls = null::refused) {
  if (!value.is_array()) refuse(where, " must be a list of numbers, got ", shown(value));
  numbers result;
  for (std::size_t i = 0; i < value.size(); ++i) {
    bool const is_given = nulls == null::refused || !value[i].is_null();
    result.push_back(is_given ? number_of(value[i], where + '[' + std::to_string(i) + ']')
                              : not_given);
  }
  return result;
}

std::vector<numbers> table_of(json const& value, std::string const& where) {
  if (!value.is_array()) refuse(where, " must be a list of rows, got ", shown(value));
  std::vector<numbers> result;
  for (std::size_t i = 0; i < value.size(); ++i)
    result.push_back(list_of(value[i], where + '[' + std::to_string(i) + ']'));
  return result;
}

class case_reader {
 public:
  case_reader(json const& file, std::string where) : file_(file), where_(std::move(where)) {}

  test_case read() const {
    test_case c{.name = text("name"), .covers = text("covers")};
    c.is_rotary = text("encoding") == "rotary";
    read_parameters(c, c.is_rotary ? "rope_parameters" : "parameters");
    for (auto const& [key, value] : file_.items()) read_answer(c, key, value);
    if (auto const* given = find("distances")) c.distances = list_of(*given, at("distances"));
    if (auto const* given = find("scores")) c.scores = list_of(*given, at("scores"));
    if (c.is_rotary) {
      read_rotary(c);
    } else {
      read_scores(c);
    }
    return c;
  }

 private:
  std::string at(std::string const& key) const { return where_ + ": " + key; }
  json const* find(char const* key) const {
    auto const found = file_.find(key);
    return found == file_.end() ? nullptr : &*found;
  }
  json const& get(char const* key) const {
    auto const* found = find(key);
    if (found == nullptr) refuse(where_, ": must have ", key);
    return *found;
  }
  std::string text(char const* key) const {
    auto const& value = get(key);
    if (!value.is_string()) refuse(at(key), " must be a string, got ", shown(value));
    return value.get<std::string>();
  }
  std::size_t count(json const& value, std::string const& where) const {
    auto const x = number_of(value, where);
    if (!(x >= 0 && x <= 65536 && x == std::floor(x)))
      refuse(where, " must be a whole number from 0 to 65536, got ", x);
    return static_cast<std::size_t>(x);
  }
  std::size_t count(char const* key) const { return count(get(key), at(key)); }

  void read_parameters(test_case& c, std::string const& name) const {
    auto const& given = get(name.c_str());
    if (!given.is_object()) refuse(at(name), " must be an object");
    c.parameters = given.dump();
    c.type = c.is_rotary ? given.value("rope_type", "") : text("encoding");
    for (auto const& [key, value] : given.items()) {
      auto const where = at(name + '.' + key);
      if (value.is_boolean()) c.settings[key] = {value.get<bool>() ? 1.0 : 0.0};
      if (value.is_number()) c.settings[key] = {number_of(value, where)};
      if (value.is_array()) c.settings[key] = list_of(value, where);
    }
  }

  void read_answer(test_case& c, std::string const& key, json const& value) const {
    if (key == attention_factor) c.expected[key] = {number_of(value, at(key))};
    if (is_list(key)) c.expected[key] = list_of(value, at(key));
    if (!is_table(key)) return;
    auto const rows = table_of(value, at(key));
    if (rows.empty() || rows.front().empty()) refuse(at(key), " must have numbers");
    auto& all = c.expected[key];
    for (auto const& row : rows) {
      require_size(key, row.size(), rows.front().size());
      all.insert(all.end(), row.begin(), row.end());
    }
    c.columns[key] = rows.front().size();
  }

  // What is asked for, and the answers, which have a number for each in every row.
  void read_scores(test_case& c) const {
    static std::map<std::string, std::vector<char const*>> const fields{
        {"alibi", {"distances", "slopes", "bias"}},
        {"t5_buckets", {"distances", "buckets"}},
        {"kerple_log", {"distances", "bias"}},
        {"kerple_power", {"distances", "bias"}},
        {"soft_cap", {"scores", "capped"}},
        {"position_temperature", {"positions", "factors"}}};
    auto const known = fields.find(c.type);
    if (known == fields.end()) refuse(at("encoding"), " is not known: ", c.type);
    auto const asked = list_of(get(known->second.front()), at(known->second.front())).size();
    if (asked == 0) refuse(at(known->second.front()), " must have numbers");
    if (auto const* given = find("positions")) c.positions = {list_of(*given, at("positions"))};
    for (std::string const field : known->second) {
      get(field.c_str());
      if (field != "slopes" && c.expected.contains(field))
        require_size(field, is_table(field) ? c.columns.at(field) : c.expected.at(field).size(),
                     asked);
    }
  }

  void read_rotary(test_case& c) const {
    c.head_dim = count("head_dim"), c.first_dim = count("first_dim");
    if (find("blocks") != nullptr) c.blocks = count("blocks");
    if (auto const* given = find("length")) c.length = number_of(*given, at("length"));
    if (auto const* given = find("max_position_embeddings"))
      c.trained = number_of(*given, at("max_position_embeddings"));
    c.is_interleaved = text("layout") == "interleaved";
    for (auto const& pair : table_of(get("pairs"), at("pairs"))) {
      if (pair.size() != 2) refuse(at("pairs"), " must have two dims each, got ", pair.size());
      c.pairs.push_back({count(pair[0], at("pairs")), count(pair[1], at("pairs"))});
      if (std::max(c.pairs.back()[0], c.pairs.back()[1]) >= c.head_dim)
        refuse(at("pairs"), " must lie in the head of ", c.head_dim, " dims");
    }
    c.axis_of_pair.assign(c.pairs.size(), 0);
    if (auto const* given = find("axis_of_pair")) {
      auto const axes = list_of(*given, at("axis_of_pair"));
      for (std::size_t i = 0; i < std::min(axes.size(), c.pairs.size()); ++i)
        c.axis_of_pair[i] = count(axes[i], at("axis_of_pair"));
      require_size("axis_of_pair", axes.size(), c.pairs.size());
    }
    for (auto const& position : get("positions")) {
      c.positions.push_back(position.is_array() ? list_of(position, at("positions"))
                                                : numbers{number_of(position, at("positions"))});
      for (auto const axis : c.axis_of_pair) {
        if (axis >= c.positions.back().size()) refuse(at("positions"), " must have axis ", axis);
      }
    }
    if (c.pairs.empty() || c.positions.empty()) refuse(where_, ": must have pairs and positions");
    c.input = table_of(get("input"), at("input"));
    require_size("input", c.input.size(), c.positions.size());
    for (auto const& row : c.input) require_size("input", row.size(), c.head_dim);
    auto const pairs = c.pairs.size(), tokens = c.positions.size();
    std::map<std::string, std::size_t> const sizes{{"inv_freq", pairs},
                                                   {attention_factor, 1},
                                                   {"cos", pairs * tokens},
                                                   {"sin", pairs * tokens},
                                                   {"rotated", c.head_dim * tokens}};
    for (auto const* key : {"inv_freq", attention_factor, "rotated"}) get(key);
    for (auto const& [field, values] : c.expected) {
      if (!sizes.contains(field)) refuse(at(field), " is of no rotary case");
      require_size(field, values.size(), sizes.at(field));
    }
  }
  void require_size(std::string const& key, std::size_t size, std::size_t wanted) const {
    if (size != wanted) refuse(at(key), " must have ", wanted, " numbers, got ", size);
  }

  json const& file_;
  std::string where_;
};

numbers answer_of(json const& value, test_case const& c, std::string const& field,
                  std::string const& where) {
  auto const wanted = c.expected.at(field).size();
  if (field == attention_factor) return {number_of(value, where)};
  if (is_list(field)) {
    auto got = list_of(value, where, null::not_given);
    if (got.size() != wanted) refuse(where, " must have ", wanted, " numbers, got ", got.size());
    return got;
  }
  if (!value.is_array()) refuse(where, " must be a list of rows, got ", shown(value));
  auto const columns = c.columns.at(field), rows = wanted / columns;
  std::vector<numbers> table;
  for (std::size_t i = 0; i < value.size(); ++i) {
    auto const here = where + '[' + std::to_string(i) + ']';
    table.push_back(value[i].is_null() ? numbers(columns, not_given)
                                       : list_of(value[i], here, null::not_given));
  }
  if (table.size() != rows) refuse(where, " must have ", rows, " rows, got ", table.size());
  numbers got;
  for (std::size_t i = 0; i < rows; ++i) {
    if (table[i].size() != columns)
      refuse(where, '[', i, "] must have ", columns, " numbers, got ", table[i].size());
    got.insert(got.end(), table[i].begin(), table[i].end());
  }
  return got;
}

answers answers_of(json const& given, test_case const& c, std::string const& where) {
  if (given.is_null()) return {};
  if (!given.is_object()) refuse(where, " must be an object, got ", shown(given));
  answers result;
  for (auto const& [field, value] : given.items()) {
    auto const here = where + '.' + field;
    if (!c.expected.contains(field)) {
      std::string known;
      for (auto const& [name, values] : c.expected) known += (known.empty() ? "" : ", ") + name;
      refuse(here, " is no field of this case, which has ", known);
    }
    if (value.is_null()) continue;
    auto const got = answer_of(value, c, field, here);
    if (std::ranges::any_of(got, [](double x) { return x != not_given; })) result[field] = got;
  }
  return result;
}

std::string shown(double x, precision p) {
  if (x == not_given) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", p == precision::float64 ? 17 : 9, x);
  return text;
}

std::string shown(numbers const& values, std::size_t first, std::size_t count, precision p) {
  std::string result = "[";
  for (std::size_t i = first; i < first + count; ++i)
    (result += i == first ? "" : ",") += shown(values[i], p);
  return result + "]";
}

}  // namespace

std::vector<test_case> read_cases(std::filesystem::path const& folder) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none))
    refuse(folder.string(), ": must be the folder of the cases");
  std::vector<std::filesystem::path> files;
  for (auto const& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  if (files.empty()) refuse(folder.string(), ": has no cases, files NAME.json");
  std::ranges::sort(files);
  std::vector<test_case> cases;
  for (auto const& file : files) {
    auto const json = parsed(file);
    if (!json.is_object()) refuse(file.string(), ": must be a JSON object");
    cases.push_back(case_reader(json, file.string()).read());
  }
  return cases;
}

dump read_dump(std::filesystem::path const& path, std::vector<test_case> const& cases) {
  auto const file = path.string();
  auto const json = parsed(path);
  if (!json.is_object() || !json.contains("cases") || !json["cases"].is_object())
    refuse(file, ": must be an object with \"cases\", an object of answers by case");
  dump result;
  for (auto const& [key, value] : json.items()) {
    if (key == "engine" && value.is_string()) {
      result.engine = value.get<std::string>();
    } else if (key == "precision" && value.is_string()) {
      auto const name = value.get<std::string>();
      bool known = false;
      for (auto const p :
           {precision::float64, precision::float32, precision::float16, precision::bfloat16}) {
        if (name == name_of(p)) result.stored = p, known = true;
      }
      if (!known)
        refuse(file, ": precision must be float64, float32, float16 or bfloat16, got ", name);
    } else if (key != "cases") {
      refuse(file, ": must have engine and precision as strings, and cases, got ", key);
    }
  }
  for (auto const& [name, value] : json["cases"].items()) {
    auto const found = std::ranges::find(cases, name, &test_case::name);
    if (found == cases.end()) refuse(file, ": there is no case ", name);
    auto const given = answers_of(value, *found, file + ": " + name);
    if (!given.empty()) result.cases[name] = given;
  }
  if (result.cases.empty()) refuse(file, ": answers no case");
  return result;
}

void write_template(std::ostream& out, std::vector<test_case> const& cases) {
  out << "{\"engine\": \"\", \"precision\": \"float32\",\n\"cases\": {";
  bool first = true;
  for (auto const& c : cases) {
    out << (first ? "\n" : ",\n") << json(c.name) << ": {";
    bool first_field = true;
    for (auto const& [field, values] : c.expected) {
      out << (first_field ? "" : ", ") << json(field) << ": null";
      first_field = false;
    }
    out << '}';
    first = false;
  }
  out << "\n}}\n";
}

void write_dump(std::ostream& out, dump const& written, std::vector<test_case> const& cases) {
  auto const p = written.stored;
  out << "{\"engine\": " << json(written.engine) << ", \"precision\": \"" << name_of(p)
      << "\",\n\"cases\": {";
  bool first = true;
  for (auto const& c : cases) {
    auto const given = written.cases.find(c.name);
    if (given == written.cases.end()) continue;
    out << (first ? "\n" : ",\n") << json(c.name) << ": {";
    first = false;
    bool first_field = true;
    for (auto const& [field, values] : given->second) {
      out << (first_field ? "" : ",") << '\n' << json(field) << ": ";
      first_field = false;
      if (field == attention_factor) {
        out << shown(values.front(), p);
      } else if (is_list(field)) {
        out << shown(values, 0, values.size(), p);
      } else {
        auto const columns = c.columns.at(field);
        out << '[';
        for (std::size_t at = 0; at < values.size(); at += columns)
          out << (at == 0 ? "" : ",\n") << shown(values, at, columns, p);
        out << ']';
      }
    }
    out << '}';
  }
  out << "\n}}\n";
}

}  // namespace conformance
