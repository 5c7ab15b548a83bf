#include "reading.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "report.hpp"
#include "reporting/scale.hpp"

namespace ring {
namespace {

using charts::compact;

// Where a result is no number it is as far from the other as can be.
std::string size_of(double difference) {
  return difference < 1e300 ? compact(difference) : "infinity";
}

std::string percent(double part) {
  return part < 0.001 ? "less than 0.1 %" : compact(100 * part) + " %";
}

std::string of_work(outcome const& o, std::size_t ranks) {
  if (ranks == 1) return "one rank has all the work";
  std::vector<std::uint64_t> pairs;
  for (std::size_t rank = 0; rank < ranks; ++rank) pairs.push_back(o.counted.of_rank(rank));
  auto const [least, most] = std::ranges::minmax_element(pairs);
  auto const times = *least == 0
                         ? std::string()
                         : compact(static_cast<double>(*most) / static_cast<double>(*least));
  auto const share = *least == 0 ? std::to_string(std::ranges::count(pairs, 0u)) + " of " +
                                       std::to_string(ranks) + " ranks have nothing to do"
                     : *least == *most ? std::string("all ranks see as many pairs")
                     : times == "1"
                         ? std::string("all ranks see nearly as many pairs")
                         : "the busiest rank sees " + times + " times the pairs of the least busy";
  return share + "; if all keep step, " + compact(100 * o.counted.efficiency()) +
         " % of the ranks' time is work";
}

std::string of_difference(difference const& d) {
  if (d.outputs == 0 && d.log_sum_exp == 0) return "the result is that of one process, bit for bit";
  return "outputs are at most " + compact(d.outputs) + " from those of one process, " +
         percent(d.part_of_outputs) + " of what rounding may cost, log_sum_exp " +
         compact(d.log_sum_exp) + ", " + percent(d.part_of_log_sum_exp);
}

std::uint64_t most_tokens(outcome const& o, std::size_t tokens, std::size_t ranks) {
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    most = std::max<std::uint64_t>(most, positions_of(o.how, tokens, rank, ranks).size());
  return most;
}

std::string of_memory(measurement const& m) {
  std::uint64_t tokens = 0;
  for (auto const& o : m.outcomes) tokens = std::max(tokens, most_tokens(o, m.of.tokens, m.ranks));
  auto const part = tokens * m.of.key_value_size() * sizeof(float),
             all = m.of.tokens * m.of.key_value_size() * sizeof(float);
  auto const queries = tokens * m.of.query_size() * sizeof(float),
             results = queries + tokens * m.of.heads * sizeof(double);
  return "Keys and values: a rank sends at most " + in_bytes(part) + " a step, " +
         std::to_string(m.ranks - 1) + (m.ranks == 2 ? " time" : " times") +
         ", and holds three such parts, " + in_bytes(3 * part) +
         ", its own, one in hand and one arriving; to gather everything it would hold " +
         in_bytes(all) +
         ". With its queries, its results so far, those of the step and both merged it holds " +
         in_bytes(3 * part + queries + 3 * results) + ", against " +
         in_bytes(all + queries + results) + ".";
}

std::string of_time(measurement const& m) {
  auto text = "Seconds to the end of the slowest rank: ";
  std::string list;
  for (auto const& o : m.outcomes) {
    double slowest = 0;
    for (std::size_t rank = 0; rank < m.ranks; ++rank) {
      double sum = 0;
      for (std::size_t at = rank * m.ranks; at < (rank + 1) * m.ranks; ++at)
        sum += o.computed[at] + o.waited[at];
      slowest = std::max(slowest, sum);
    }
    list += (list.empty() ? "" : ", ") + name_of(o.how) + " " + compact(slowest);
  }
  return text + list + "; of one process " + compact(m.seconds_of_one_process) + ".";
}

}  // namespace

std::string title_of(measurement const& m) {
  auto const& s = m.of;
  auto const temperature = m.temperature == "none" ? "" : " with " + m.temperature + " temperature";
  return "Ring attention of " + grouped(s.tokens) + (s.tokens == 1 ? " token" : " tokens") +
         " on " + std::to_string(m.ranks) + (m.ranks == 1 ? " rank; " : " ranks; ") +
         std::to_string(s.heads) + (s.heads == 1 ? " head, " : " heads, ") +
         std::to_string(s.kv_heads) + " of keys and values, head_dim " +
         std::to_string(s.head_dim) + ", " + m.encoding + temperature + ", seed " +
         std::to_string(s.seed);
}

std::vector<std::string> reading(measurement const& m) {
  std::vector<std::string> sentences;
  for (auto const& o : m.outcomes)
    sentences.push_back(name_of(o.how) + ": " + of_work(o, m.ranks) + "; " + of_difference(o.off) +
                        ".");
  sentences.push_back(of_memory(m));
  sentences.push_back(of_time(m));
  return sentences;
}

std::string what_differs(measurement const& m) {
  std::string list;
  for (auto const& o : m.outcomes) {
    if (o.off.is_rounding()) continue;
    list += (list.empty() ? "" : "; ") + name_of(o.how) +
            " differs from one process by more than rounding: outputs by " +
            size_of(o.off.outputs) + ", " + size_of(o.off.part_of_outputs) +
            " times what it may cost, log_sum_exp by " + size_of(o.off.log_sum_exp) + ", " +
            size_of(o.off.part_of_log_sum_exp) + " times";
  }
  return list;
}

std::string in_bytes(std::uint64_t bytes) {
  constexpr std::array units{" bytes", " KiB", " MiB", " GiB", " TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < units.size(); ++unit) size /= 1024;
  return compact(size, 4) + units[unit];
}

}  // namespace ring
