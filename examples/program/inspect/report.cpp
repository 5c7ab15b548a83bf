#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <set>
#include <string_view>
#include <vector>

#include "program/models/words.hpp"
#include "remarks.hpp"

namespace inspect {

using posenc::frequencies;
using posenc::layer_description;
using posenc::model_description;
using program::grouped;
using program::print_wrapped;
using program::rounded;
using program::shown_layers;

namespace {

// Contiguous axes as 16 t, 24 h, 24 w; interleaved ones as a letter for each pair.
std::string shown_axes(posenc::pair_axes const& axes) {
  std::string letters, runs;
  for (std::size_t i = 0; i < axes.pairs(); ++i)
    letters += axes.axis(i) < 4 ? "thwe"[axes.axis(i)] : '?';
  std::size_t count = 0;
  for (std::size_t first = 0, last = 0; first < letters.size(); first = last, ++count) {
    last = std::min(letters.find_first_not_of(letters[first], first), letters.size());
    if (count != 0) runs += ", ";
    (runs += std::to_string(last - first) + ' ') += letters[first];
  }
  if (count == 1) return "all by axis " + std::to_string(axes.axis(0)) + " of a position";
  return "axes of its pairs: " + (count <= 4 ? runs : letters);
}

std::string shown_rotation(std::size_t head_dim, posenc::rotary_description const& rotary,
                           frequencies const& f) {
  auto const dim = f.rotary_dim(), first = rotary.block.first_dim(head_dim, dim);
  std::string text = "RoPE, " + rotary.rule + (rotary.has_pair_factors ? ", rope_freqs: " : ": ");
  if (dim == head_dim) {
    text += "all " + grouped(dim) + " dims";
  } else {
    text +=
        "dims " + grouped(first) + " to " + grouped(first + dim - 1) + " of " + grouped(head_dim);
  }
  text += std::holds_alternative<posenc::halves>(rotary.layout)
              ? ", pairs as halves (i, i + " + grouped(dim / 2) + ")"
              : ", pairs interleaved (2i, 2i + 1)";
  if (rotary.axes) text += ", " + shown_axes(*rotary.axes);
  if (rotary.opposite) text += ", by the opposite angle";
  return text + ".";
}

std::string shown_norm(posenc::norm_description const& norm, bool rotates) {
  using enum posenc::norm_scope;
  if (norm.of == unknown) return "not known";
  if (norm.of == none) return "none";
  std::string text = norm.of == centred ? "LayerNorm"
                     : norm.of == token ? "RMS over all heads"
                                        : "RMS";
  if (rotates)
    text += norm.how.place == posenc::norm_place::before ? " before RoPE" : " after RoPE";
  if (norm.how.eps > 0) text += ", eps " + rounded(norm.how.eps);
  if (norm.tensor.empty()) return text + ", no weights";
  return text + ", " + norm.tensor + (norm.how.plus_one ? " plus 1" : "") +
         (norm.of == own_weights ? " of each head" : "");
}

// Which keys a query sees; nothing where it sees all before its own.
std::vector<std::string> shown_visibility(layer_description const& kind) {
  std::vector<std::string> lines;
  if (kind.head_dim == 0) return lines;
  auto const behind = kind.window ? *kind.window - 1 : 0;
  if (kind.window && kind.ahead == behind) {
    lines.push_back("A query sees the " + grouped(2 * behind + 1) + " nearest tokens, " +
                    grouped(behind) + " to either side.");
  } else if (kind.window) {
    lines.push_back("A query sees the last " + grouped(*kind.window) +
                    " tokens, up to itself" +
                    (kind.ahead == 0 ? "."
                     : !kind.ahead   ? ", and all later ones."
                                     : ", and " + grouped(*kind.ahead) + " later ones."));
  } else if (kind.ahead != 0) {
    lines.push_back("A query sees tokens to both sides" +
                    (kind.ahead ? ", " + grouped(*kind.ahead) + " later ones." : "."));
  }
  if (kind.chunk)
    lines.push_back("A query sees its own chunk of " + grouped(*kind.chunk) + " tokens.");
  using enum posenc::both_ways;
  if (kind.both_ways == image) lines.push_back("Tokens of one image see each other both ways.");
  if (kind.both_ways == image_within_window)
    lines.push_back("Tokens of one image see each other both ways, within the window.");
  if (kind.both_ways == prefix) lines.push_back("Tokens of the prompt see each other both ways.");
  return lines;
}

std::string shown_choice(posenc::index_heads const& index) {
  auto text = "Sees the " + grouped(index.chosen);
  text += index.block == 1 ? " keys" : " blocks of " + grouped(index.block) + " keys";
  text += " that " + grouped(index.heads) + " index heads of " + grouped(index.head_dim) +
          " dims choose";
  if (index.local_blocks != 0) text += ", with its own block always";
  if (index.key_stride != 1)
    text += ", by one index key for " + grouped(index.key_stride) + " tokens";
  return text + ".";
}

void print_row(std::ostream& os, std::string const& pair, std::string const& inv_freq,
               std::string const& wavelength, std::string const& turns,
               std::string const& remark = "") {
  char line[200];
  std::snprintf(line, sizeof line, "    %5s %10s %18s %18s  %s", pair.c_str(), inv_freq.c_str(),
                wavelength.c_str(), turns.c_str(), remark.c_str());
  std::string text = line;
  os << text.substr(0, text.find_last_not_of(' ') + 1) << '\n';
}

// Seven pairs, evenly spaced, and those where pairs begin to be slow or not to rotate.
void print_pairs(std::ostream& os, frequencies const& f, std::size_t reach) {
  auto const pairs = posenc::describe(f, reach);
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    bool const slow_begins = pairs[i].turns < 1 && (i == 0 || pairs[i - 1].turns >= 1);
    bool const was_rotated = i == 0 || pairs[i - 1].inv_freq != 0;
    bool const unrotated_begin = was_rotated && pairs[i].inv_freq == 0;
    if (slow_begins || unrotated_begin) chosen.insert(i);
    if (unrotated_begin && i > 0) chosen.insert(i - 1);
  }
  for (std::size_t i = 0; i <= 6; ++i) chosen.insert(i * (pairs.size() - 1) / 6);
  print_row(os, "pair", "rad/token", "wavelength, tokens", "turns in " + grouped(reach));
  bool slow = false;
  for (auto const i : chosen) {
    auto const& p = pairs[i];
    bool const first_slow = !slow && p.turns < 1 && p.inv_freq != 0;
    if (p.inv_freq == 0) {
      print_row(os, grouped(i), "0", "-", "0", "does not rotate");
    } else {
      print_row(os, grouped(i), rounded(p.inv_freq), rounded(p.wavelength), rounded(p.turns),
                first_slow ? "first below one turn" : "");
    }
    slow = slow || first_slow;
  }
}

void print_kind(std::ostream& os, layer_description const& kind, std::size_t length) {
  os << '\n';
  print_wrapped(os, "  ",
                kind.name + ", " + grouped(kind.layers.size()) +
                    (kind.layers.size() == 1 ? " layer: " : " layers: ") +
                    shown_layers(kind.layers));
  auto const line = [&](std::string const& text) { print_wrapped(os, "    ", text); };
  for (auto const& text : shown_visibility(kind)) line(text);
  if (kind.pooled != 0) {
    line("And one key more for each " + grouped(kind.pooled) +
         " tokens, pooled, at the position of the first.");
  }
  if (kind.shares_index) line("Sees the keys that an earlier layer chose.");
  if (kind.index) {
    auto const& index = *kind.index;
    line(shown_choice(index));
    line("Index heads: " +
         shown_rotation(index.head_dim, index.rotary, index.rotary.frequencies.at(length)));
  }
  if (kind.alibi) {
    line("ALiBi: score - slope * distance, " + grouped(kind.alibi->heads) + " heads, max bias " +
         rounded(kind.alibi->max_bias) +
         (kind.alibi->factor == 1 ? "." : ", slopes times " + rounded(kind.alibi->factor) + "."));
  }
  if (auto const far = how_far(kind); !far.empty()) line(far);
  if (kind.buckets) {
    line("T5: a learned bias for each of " + grouped(kind.buckets->buckets) +
         " buckets of distance, up to " + grouped(kind.buckets->max_distance) + ".");
  }
  if (kind.temperature) {
    auto const& t = *kind.temperature;
    line("Temperature: scores times 1 + " + rounded(t.scale) + " ln(1 + floor((position" +
         (t.offset == 0 ? "" : " + " + rounded(t.offset)) + ") / " + rounded(t.floor_scale) +
         ")).");
  }
  if (kind.softmax_factor == std::sqrt(static_cast<double>(kind.head_dim))) {
    line("Scores are not divided by sqrt(head_dim).");
  } else if (kind.softmax_factor != 1) {
    line("Scores times " + rounded(kind.softmax_factor) + ", beside 1 / sqrt(head_dim).");
  }
  if (kind.score_cap) line("Scores capped at " + rounded(*kind.score_cap) + ".");
  if (kind.sinks) line("Each head has a learned sink logit.");
  auto const norm_line = [&](char const* of, posenc::norm_description const& norm, bool rotates) {
    bool const is_there = kind.head_dim != 0 && norm.of != posenc::norm_scope::none;
    if (is_there) line("Norm of " + std::string(of) + ": " + shown_norm(norm, rotates) + ".");
  };
  norm_line("queries", kind.query_norm, !kind.rotary.empty());
  norm_line("keys", kind.key_norm, !kind.rotary.empty());
  norm_line("values", kind.value_norm, false);
  if (kind.key_bias == true) {
    auto const can = kind.key_bias_is_separable();
    line(std::string("Keys have a bias, which a cache ") +
         (can == true    ? "can leave out: score/key_bias.hpp adds it to scores."
          : can == false ? "cannot leave out: a norm stands behind it."
                         : "can leave out if no norm stands behind it."));
  }
  if (kind.rotary.empty() && kind.head_dim != 0 && !kind.alibi && !kind.buckets)
    line("No rotation.");
  for (auto const& rotary : kind.rotary) {
    auto const f = rotary.frequencies.at(length);
    line(shown_rotation(kind.head_dim, rotary, f));
    print_pairs(os, f, reach_of(kind, length));
    for (auto const& remark : remarks(kind, f, length)) {
      print_wrapped(os, "    * ", remark);
    }
  }
}

}  // namespace

void print(std::ostream& os, std::string const& file, model_description const& model,
           std::size_t length) {
  os << file << ": " << model.type << ", " << grouped(model.layers)
     << (model.layers == 1 ? " layer" : " layers");
  if (model.context) os << ", made for " << grouped(*model.context) << " tokens";
  if (!model.context || *model.context != length)
    os << ", shown at " << grouped(length);
  os << '\n';
  if (!model.embedding.empty())
    os << "\n  Positions are " << model.embedding << " embeddings, added to those of tokens.\n";
  double lost = 0;  // by angles computed in float
  for (auto const& kind : model.kinds) {
    print_kind(os, kind, length);
    for (auto const& rotary : kind.rotary)
      lost = std::max(lost, float_error(rotary.frequencies.at(length), length));
  }
  if (!model.assumptions.empty()) os << "\n  Assumed:\n";
  for (auto const& sentence : model.assumptions) print_wrapped(os, "    - ", sentence);
  if (!model.notes.empty() || lost > 0) os << "\n  Notes:\n";
  if (lost > 0) {
    print_wrapped(os, "    - ",
                  "Angles computed in float32 are off by up to " + rounded(lost) +
                      " radians at the last of " + grouped(length) + " positions.");
  }
  for (auto const& sentence : model.notes) print_wrapped(os, "    - ", sentence);
}

}  // namespace inspect
