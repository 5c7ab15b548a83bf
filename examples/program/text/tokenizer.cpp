#include "program/text/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <queue>
#include <tuple>

#include "program/text/vocabulary.hpp"

namespace program {
namespace {

constexpr std::string_view mark = "\u2581";

// Bytes of the character at the beginning of a text; 0: it is no UTF-8.
std::size_t character_of(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  auto const first = byte(0);
  auto const size = first < 0x80   ? 1u
                    : first < 0xC2 ? 0u
                    : first < 0xE0 ? 2u
                    : first < 0xF0 ? 3u
                    : first < 0xF5 ? 4u
                                   : 0u;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (size == 3 && ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0)))
    return 0;
  if (size == 4 && ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90)))
    return 0;
  return size;
}

void require_utf8(std::string_view text, std::string const& name) {
  for (std::size_t at = 0; at < text.size();) {
    auto const size = character_of(text.substr(at));
    if (size == 0)
      throw std::runtime_error(name + ": must be UTF-8, got another byte at " + std::to_string(at));
    at += size;
  }
}

// GPT-2 writes bytes as characters that can be seen: those of Latin 1 as themselves, the other 68
// from U+0100 on, in their order. [openai/gpt-2, src/encoder.py]
std::array<std::string, 256> const& letters_of_bytes() {
  static auto const all = [] {
    std::array<std::string, 256> result;
    unsigned next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      bool const is_seen = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
      auto const code = is_seen ? byte : next++;
      if (code < 0x80) {
        result[byte] = std::string(1, static_cast<char>(code));
      } else {
        result[byte] = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
      }
    }
    return result;
  }();
  return all;
}

// A part of a word between its neighbours, by their numbers.
struct part {
  std::string text;
  std::size_t before, behind;
  std::size_t age = 0;  // so that a candidate of earlier parts is known
};

// Merges pairs of neighbours, the best first and of equals the leftmost.
std::vector<std::string> merged(vocabulary const& v, std::vector<std::string> const& from) {
  constexpr auto none = static_cast<std::size_t>(-1);
  std::vector<part> parts;
  for (std::size_t i = 0; i < from.size(); ++i)
    parts.push_back({from[i], i == 0 ? none : i - 1, i + 1 == from.size() ? none : i + 1});
  struct candidate {
    double order;
    std::size_t left, right, left_age, right_age;
    bool operator<(candidate const& other) const {
      return std::tie(order, left) > std::tie(other.order, other.left);
    }
  };
  std::priority_queue<candidate> all;
  auto const consider = [&](std::size_t left) {
    if (left == none || parts[left].behind == none) return;
    auto const right = parts[left].behind;
    auto const& a = parts[left].text;
    auto const& b = parts[right].text;
    auto const found = v.order.find(v.by_score ? a + b : a + ' ' + b);
    if (found != v.order.end())
      all.push({found->second, left, right, parts[left].age, parts[right].age});
  };
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) consider(i);
  while (!all.empty()) {
    auto const best = all.top();
    all.pop();
    auto &left = parts[best.left], &right = parts[best.right];
    if (left.age != best.left_age || right.age != best.right_age) continue;
    left.text += right.text;
    right.text.clear();
    ++left.age, ++right.age;
    left.behind = right.behind;
    if (left.behind != none) parts[left.behind].before = best.left;
    consider(left.before), consider(best.left);
  }
  std::vector<std::string> result;
  for (std::size_t i = parts.empty() ? none : 0; i != none; i = parts[i].behind)
    result.push_back(parts[i].text);
  return result;
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    auto const size = character_of(text);
    all.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return all;
}

std::string byte_token(unsigned char byte) {
  constexpr char digits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

// The tokens of a character's bytes; none if one of them is no token.
token_ids bytes_of(vocabulary const& v, std::string_view letter) {
  token_ids ids;
  for (auto const c : letter) {
    auto const found = v.ids.find(byte_token(static_cast<unsigned char>(c)));
    if (!v.has_bytes || found == v.ids.end()) return {};
    ids.push_back(found->second);
  }
  return ids;
}

void add_ids(vocabulary const& v, std::vector<std::string> const& texts, token_ids& to) {
  bool was_unknown = false;
  auto const add = [&](std::uint32_t id) { to.push_back(id), was_unknown = false; };
  for (auto const& text : texts) {
    if (auto const found = v.ids.find(text); found != v.ids.end()) {
      add(found->second);
      continue;
    }
    for (auto const& letter : characters_of(text)) {  // a score may join what is no token
      if (auto const one = v.ids.find(letter); one != v.ids.end()) {
        add(one->second);
      } else if (auto const bytes = bytes_of(v, letter); !bytes.empty()) {
        for (auto const id : bytes) add(id);
      } else if (v.unknown) {
        if (!was_unknown || !v.joins_unknown) to.push_back(*v.unknown);
        was_unknown = true;
      } else {
        v.refuse("the vocabulary has no token for " + letter);
      }
    }
  }
}

// Calls on_token(id) for each of these that is written in a text, and on_text(text, where) for what
// lies between.
void split(std::string_view text, vocabulary::by_text const& tokens, auto const& on_text,
           auto const& on_token) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size() && !tokens.empty();) {
    auto const here = text.substr(at);
    // The longest of those that begin alike: they are sorted backwards.
    auto const found =
        std::ranges::find_if(tokens, [&](auto const& one) { return here.starts_with(one.first); });
    if (found == tokens.end()) {
      ++at;
      continue;
    }
    if (begin < at) on_text(text.substr(begin, at - begin), begin);
    on_token(found->second);
    begin = at += found->first.size();
  }
  if (begin < text.size()) on_text(text.substr(begin), begin);
}

void add_words(vocabulary const& v, std::string_view text, token_ids& to) {
  std::vector<std::string_view> words{text};
  for (auto const& pattern : v.patterns) {
    std::vector<std::string_view> next;
    for (auto const word : words) {
      auto const parts = words_of(word, pattern);
      next.insert(next.end(), parts.begin(), parts.end());
    }
    words = std::move(next);
  }
  for (auto const word : words) {
    std::string whole;
    for (auto const c : word) whole += letters_of_bytes()[static_cast<unsigned char>(c)];
    if (v.takes_whole_words && v.ids.contains(whole)) {
      add_ids(v, {whole}, to);
    } else {
      add_ids(v, merged(v, characters_of(whole)), to);
    }
  }
}

void add_characters(vocabulary const& v, std::string_view text, token_ids& to) {
  if (v.takes_whole_words && v.ids.contains(std::string(text)))
    return add_ids(v, {std::string(text)}, to);
  if (!v.splits_at_spaces) return add_ids(v, merged(v, characters_of(text)), to);
  while (!text.empty()) {
    auto const next =
        std::min(text.find(mark, text.starts_with(mark) ? mark.size() : 0), text.size());
    add_ids(v, merged(v, characters_of(text.substr(0, next))), to);
    text.remove_prefix(next);
  }
}

// A letter and a mark that Unicode's NFC makes one, where both are the usual ones.
void require_composed(vocabulary const& v, std::string_view text, std::size_t begin) {
  for (std::size_t i = 0; v.composes && i + 2 < text.size(); ++i) {
    auto const letter = static_cast<unsigned char>(text[i] | 0x20);
    auto const first = static_cast<unsigned char>(text[i + 1]),
               second = static_cast<unsigned char>(text[i + 2]);
    if (letter >= 'a' && letter <= 'z' && (first == 0xCC || (first == 0xCD && second < 0xB0)))
      v.refuse("composes letters and marks (NFC), which posenc does not: byte " +
               std::to_string(begin + i) + " of the text must be a letter that has its mark");
  }
}

}  // namespace

std::string vocabulary::marked(std::string_view text, bool is_beginning) const {
  bool const is_there = text.starts_with(' ') || text.starts_with(mark);
  std::string whole;
  if (adds_space && (is_beginning || !only_at_beginning) && !(unless_there && is_there))
    whole = spaces_are_marked ? mark : " ";
  for (auto const c : text)
    whole += c == ' ' && spaces_are_marked ? std::string(mark) : std::string(1, c);
  return whole;
}

tokenizer::tokenizer(weight_files const& files) {
  if (files.is_gguf()) {
    of_ = std::make_unique<vocabulary const>(vocabulary_of_gguf(files));
  } else {
    auto const text = files.text("tokenizer.json");
    if (!text)
      throw std::runtime_error(files.name() +
                               ": has no tokenizer.json; --ids FILE takes ids in place of a text");
    of_ = std::make_unique<vocabulary const>(vocabulary_of_json(files, *text));
  }
  if (!of_->patterns.empty() && !has_regular_expressions())
    of_->refuse("this posenc was built without PCRE2, which splits words");
}
tokenizer::tokenizer(tokenizer&&) noexcept = default;
tokenizer& tokenizer::operator=(tokenizer&&) noexcept = default;
tokenizer::~tokenizer() = default;

token_ids tokenizer::encode(std::string_view text, std::string const& name) const {
  require_utf8(text, name);
  auto const& v = *of_;
  auto ids = v.in_front;
  auto const add_id = [&](std::uint32_t id) { ids.push_back(id); };
  auto const add_text = [&](std::string_view part, std::size_t begin) {
    require_composed(v, part, begin);
    if (v.of == vocabulary::kind::by_bytes) return add_words(v, part, ids);
    auto const whole = v.marked(part, begin == 0);
    split(
        whole, v.special_marked, [&](auto const between, auto) { add_characters(v, between, ids); },
        add_id);
  };
  split(text, v.special, add_text, add_id);
  ids.insert(ids.end(), v.behind.begin(), v.behind.end());
  return ids;
}

token_ids tokenizer::encode_file(std::string const& file) const {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + ": cannot be read");
  std::string const text{std::istreambuf_iterator<char>(in), {}};
  return encode(text, file);
}

std::string tokenizer::decode(std::span<std::uint32_t const> ids) const {
  std::string text;
  for (auto const id : ids) {
    if (id >= of_->tokens.size() || !of_->is_text[id]) continue;
    auto const& token = of_->tokens[id];
    if (of_->of == vocabulary::kind::by_bytes) {
      for (auto const& letter : characters_of(token)) {
        auto const& all = letters_of_bytes();
        auto const found = std::ranges::find(all, letter);
        if (found != all.end())
          text += static_cast<char>(found - all.begin());
        else
          text += letter;
      }
    } else if (of_->has_bytes && token.size() == 6 && token.starts_with("<0x")) {
      text += static_cast<char>(std::stoi(token.substr(3, 2), nullptr, 16));
    } else {
      for (std::string_view rest = token; !rest.empty();) {
        bool const is_space = of_->spaces_are_marked && rest.starts_with(mark);
        text += is_space ? ' ' : rest.front();
        rest.remove_prefix(is_space ? mark.size() : 1);
      }
    }
  }
  return text;
}

std::vector<std::string> const& tokenizer::notes() const { return of_->notes; }

}  // namespace program
