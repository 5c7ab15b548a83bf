// rotate, rotate_, rows and attention as operators of PyTorch, over posenc's C library. What an
// argument must be is checked here where C has no word for it, and else by posenc.
#include "torch_binding.h"

#include <ATen/Parallel.h>
#include <posenc/posenc.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "registration.h"

namespace {

void must(posenc1_status status) { TORCH_CHECK(status == POSENC1_OK, posenc1_error()); }

posenc1_format format_of(at::Tensor const& x, char const* name) {
  switch (x.scalar_type()) {
    case at::kFloat:
      return POSENC1_F32;
    case at::kDouble:
      return POSENC1_F64;
    case at::kHalf:
      return POSENC1_F16;
    case at::kBFloat16:
      return POSENC1_BF16;
    default:
      TORCH_CHECK(false, "posenc: ", name, " must be float, bfloat16, half or double, got ",
                  x.scalar_type());
  }
}

// Heads [batches][tokens][heads][head_dim] at their strides.
posenc1_heads heads_of(at::Tensor const& x, char const* name) {
  TORCH_CHECK(x.dim() == 4, "posenc: ", name, " must be [batch, tokens, heads, head_dim], got ",
              x.sizes());
  TORCH_CHECK(x.size(3) <= 1 || x.stride(3) == 1, "posenc: the dims of a head of ", name,
              " must be contiguous, got the strides ", x.strides());
  auto const stride = [&](int64_t axis) {
    TORCH_CHECK(x.size(axis) <= 1 || x.stride(axis) != 0, "posenc: ", name,
                " must not be expanded, got the strides ", x.strides());
    return x.size(axis) > 1 ? x.stride(axis) * static_cast<int64_t>(x.element_size()) : 0;
  };
  posenc1_heads heads{};
  heads.data = x.data_ptr();
  heads.format = format_of(x, name);
  heads.page_stride = stride(0);
  heads.token_stride = stride(1);
  heads.head_stride = stride(2);
  return heads;
}

posenc1_layout layout_of(std::string const& name) {
  TORCH_CHECK(name == "halves" || name == "interleaved",
              "posenc: layout must be halves or interleaved, got ", name);
  return name == "halves" ? POSENC1_HALVES : POSENC1_INTERLEAVED;
}

at::Tensor with_batch(at::Tensor const& x) { return x.dim() == 3 ? x.unsqueeze(0) : x; }

// From x to `to`, or in place where they are the same.
void rotate_into(at::Tensor const& given, at::Tensor const& to, at::Tensor const& rows,
                 std::string const& layout_name, int64_t first_dim) {
  auto const x = with_batch(given);
  posenc1_operand operand{};
  operand.layout = layout_of(layout_name);
  operand.from = heads_of(x, "heads");
  if (!to.is_same(given)) operand.to = heads_of(with_batch(to), "heads");
  auto const real = operand.from.format == POSENC1_F64 ? at::kDouble : at::kFloat;
  TORCH_CHECK(rows.scalar_type() == real && (rows.dim() == 3 || rows.dim() == 4) &&
                  rows.size(-2) == 2 && rows.size(-3) == x.size(1) &&
                  (rows.dim() == 3 || rows.size(0) == x.size(0)),
              "posenc: rows must be ", real, " [tokens, 2, pairs] or [batch, tokens, 2, pairs] of ",
              x.size(0), " x ", x.size(1), " tokens, got ", rows.scalar_type(), " ", rows.sizes());
  TORCH_CHECK(first_dim >= -x.size(3) && first_dim < std::max<int64_t>(x.size(3), 1),
              "posenc: first_dim must be in [", -x.size(3), ", ", x.size(3), "), got ", first_dim);
  if (x.numel() == 0) return;
  auto const dense = rows.contiguous();
  operand.heads = static_cast<size_t>(x.size(2));
  operand.head_dim = static_cast<size_t>(x.size(3));
  operand.first_dim = static_cast<size_t>(first_dim < 0 ? first_dim + x.size(3) : first_dim);
  posenc1_rows of{};
  of.cos_sin = dense.data_ptr();
  of.tokens = static_cast<size_t>(x.size(1));
  of.batches = static_cast<size_t>(x.size(0));
  of.rows = of.tokens * (rows.dim() == 4 ? of.batches : 1);
  of.pairs = static_cast<size_t>(rows.size(-1));
  constexpr int64_t few = at::internal::GRAIN_SIZE;  // numbers, for which no thread is worth it
  auto const parts = std::min<int64_t>((x.numel() + few - 1) / few, at::get_num_threads());
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    for (auto part = first; part < last; ++part)
      must(posenc1_rotate(&of, &operand, 1, static_cast<size_t>(part), static_cast<size_t>(parts)));
  });
}

at::Tensor rotated_meta(at::Tensor const& x, at::Tensor const&, std::string const&, int64_t) {
  return at::empty_like(x, at::MemoryFormat::Contiguous);
}

void nothing_meta(at::Tensor&, at::Tensor const&, std::string const&, int64_t) {}

at::Tensor outputs_for(at::Tensor const& query, at::Tensor const& value) {
  return query.new_empty({query.size(0), query.size(1), query.size(2), value.size(3)});
}

at::Tensor attention_meta(at::Tensor const& query, at::Tensor const&, at::Tensor const& value, bool,
                          double, int64_t, int64_t, double, maybe_tensor const&,
                          maybe_tensor const&) {
  return outputs_for(query, value);
}

at::Tensor rows_meta(at::Tensor const& inv_freq, at::Tensor const& positions, double,
                     at::ScalarType type) {
  auto sizes = positions.sizes().vec();
  sizes.insert(sizes.end(), {2, inv_freq.numel()});
  return inv_freq.new_empty(sizes, type);
}

}  // namespace

at::Tensor rows(at::Tensor const& inv_freq, at::Tensor const& positions, double attention_factor,
                at::ScalarType type) {
  TORCH_CHECK(inv_freq.dim() == 1 && !inv_freq.is_complex(),
              "posenc: inv_freq must be [pairs] of real numbers, got ", inv_freq.scalar_type(), " ",
              inv_freq.sizes());
  TORCH_CHECK(at::isIntegralType(positions.scalar_type(), false),
              "posenc: positions must be integers, got ", positions.scalar_type());
  TORCH_CHECK(type == at::kFloat || type == at::kDouble,
              "posenc: rows must be of float or double, got ", type);
  auto const numbers = inv_freq.to(at::kDouble).contiguous();
  auto const of = positions.to(at::kLong).contiguous();
  posenc1_frequencies* made = nullptr;
  must(posenc1_frequencies_of_numbers(
      numbers.data_ptr<double>(), static_cast<size_t>(numbers.numel()), attention_factor, &made));
  std::unique_ptr<posenc1_frequencies, void (*)(posenc1_frequencies*)> const frequencies(
      made, posenc1_frequencies_destroy);
  posenc1_row_maker* maker = nullptr;
  must(posenc1_row_maker_create(made, 0, &maker));
  std::unique_ptr<posenc1_row_maker, void (*)(posenc1_row_maker*)> const owned(
      maker, posenc1_row_maker_destroy);
  auto result = rows_meta(inv_freq, positions, attention_factor, type);
  if (of.numel() == 0) return result;
  must(posenc1_write_rows(maker, of.data_ptr<int64_t>(), nullptr, static_cast<size_t>(of.numel()),
                          type == at::kDouble ? POSENC1_F64 : POSENC1_F32, result.data_ptr()));
  return result;
}

at::Tensor rotate(at::Tensor const& x, at::Tensor const& rows, std::string const& layout,
                  int64_t first_dim) {
  auto to = at::empty_like(x, at::MemoryFormat::Contiguous);
  rotate_into(x, to, rows, layout, first_dim);
  return to;
}

void rotate_(at::Tensor& x, at::Tensor const& rows, std::string const& layout, int64_t first_dim) {
  rotate_into(x, x, rows, layout, first_dim);
}

at::Tensor attention(at::Tensor const& query, at::Tensor const& key, at::Tensor const& value,
                     bool causal, double scale, int64_t behind, int64_t ahead, double cap,
                     maybe_tensor const& sinks, maybe_tensor const& lengths) {
  posenc1_attention a{};
  auto const whole = [](at::Tensor const& x, char const* name) {
    auto const one = x.dim() == 4 && x.size(0) > 0 ? x.narrow(0, 0, 1) : x;  // batches are apart
    return heads_of(one, name);
  };
  a.queries = whole(query, "query");
  a.keys = whole(key, "key");
  a.values = whole(value, "value");
  auto const batches = query.size(0), heads = query.size(2), tokens = key.size(1);
  TORCH_CHECK(key.size(0) == batches && value.size(0) == batches && value.size(1) == tokens &&
                  value.size(2) == key.size(2) && key.size(3) == query.size(3),
              "posenc: key must be [", batches, ", tokens, kv_heads, ", query.size(3),
              "] and value the same but for its dims, got ", key.sizes(), " and ", value.sizes());
  TORCH_CHECK(query.size(3) > 0 && (key.size(2) > 0 || heads == 0),
              "posenc: heads must have dims, and key some heads for those of query, got ",
              query.sizes(), " and ", key.sizes());
  TORCH_CHECK(behind >= 0 && ahead >= 0, "posenc: behind and ahead must not be negative, got ",
              behind, " and ", ahead);
  at::Tensor of_heads, of_batches;
  if (sinks) {
    TORCH_CHECK(!sinks->is_complex(), "posenc: sinks must be real, got ", sinks->scalar_type());
    of_heads = sinks->to(at::kDouble).contiguous();
    TORCH_CHECK(of_heads.dim() == 1 && of_heads.size(0) == heads, "posenc: sinks must be [", heads,
                "], got ", of_heads.sizes());
    a.sinks = of_heads.data_ptr<double>();
  }
  if (lengths) {
    TORCH_CHECK(at::isIntegralType(lengths->scalar_type(), false),
                "posenc: lengths must be integers, got ", lengths->scalar_type());
    of_batches = lengths->to(at::kLong).contiguous();
    TORCH_CHECK(of_batches.dim() == 1 && of_batches.size(0) == batches, "posenc: lengths must be [",
                batches, "], got ", of_batches.sizes());
    for (int64_t b = 0; b < batches; ++b) {
      auto const length = of_batches.data_ptr<int64_t>()[b];
      TORCH_CHECK(length >= 0 && length <= tokens, "posenc: lengths must be in [0, ", tokens,
                  "], got ", length);
    }
  }
  auto outputs = outputs_for(query, value);
  if (outputs.numel() == 0) return outputs;
  if (key.numel() == 0) return outputs.zero_();
  a.outputs = whole(outputs, "outputs");
  a.heads = static_cast<size_t>(heads);
  a.kv_heads = static_cast<size_t>(key.size(2));
  a.head_dim = static_cast<size_t>(query.size(3));
  a.value_dim = static_cast<size_t>(value.size(3));
  a.query_tokens = static_cast<size_t>(query.size(1));
  a.tokens = static_cast<size_t>(tokens);
  a.scale = scale;
  a.behind = static_cast<size_t>(behind);
  a.ahead = causal ? 0 : ahead > 0 ? static_cast<size_t>(ahead - 1) : POSENC1_ALL_AHEAD;
  a.cap = cap;
  auto const moved = [](at::Tensor const& x, int64_t batch) {
    return static_cast<char*>(x.data_ptr()) +
           batch * x.stride(0) * static_cast<int64_t>(x.element_size());
  };
  // A part is the query heads of some kv heads, which no other part reads; its memory is its own.
  at::parallel_for(0, batches * key.size(2), 1, [&](int64_t first, int64_t last) {
    std::vector<char> memory;
    for (auto part = first; part < last;) {
      auto const batch = part / key.size(2), head = part % key.size(2);
      auto const end = std::min(key.size(2), head + last - part);
      auto one = a;
      one.queries.data = moved(query, batch);
      one.keys.data = moved(key, batch);
      one.values.data = moved(value, batch);
      one.outputs.data = moved(outputs, batch);
      if (lengths) one.tokens = static_cast<size_t>(of_batches.data_ptr<int64_t>()[batch]);
      auto const from = static_cast<size_t>(head), to = static_cast<size_t>(end);
      must(posenc1_attention_memory(&one, from, to, &one.memory_bytes));
      memory.resize(std::max(memory.size(), one.memory_bytes));
      one.memory = memory.data();
      must(posenc1_attend(&one, from, to));
      part += end - head;
    }
  });
  return outputs;
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def(
      "rows(Tensor inv_freq, Tensor positions, float attention_factor, ScalarType type) -> Tensor");
  ops.def("rotate(Tensor x, Tensor rows, str layout, int first_dim) -> Tensor");
  ops.def("rotate_(Tensor(a!) x, Tensor rows, str layout, int first_dim) -> ()");
  ops.def(
      "attention(Tensor query, Tensor key, Tensor value, bool causal, float scale, int behind, "
      "int ahead, float cap, Tensor? sinks, Tensor? lengths) -> Tensor");
  ops.impl("rows", c10::DispatchKey::CPU, &rows);
  ops.impl("rotate", c10::DispatchKey::CPU, &rotate);
  ops.impl("rotate_", c10::DispatchKey::CPU, &rotate_);
  ops.impl("attention", c10::DispatchKey::CPU, &attention);
  ops.impl("rows", c10::DispatchKey::Meta, &rows_meta);
  ops.impl("rotate", c10::DispatchKey::Meta, &rotated_meta);
  ops.impl("rotate_", c10::DispatchKey::Meta, &nothing_meta);
  ops.impl("attention", c10::DispatchKey::Meta, &attention_meta);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
