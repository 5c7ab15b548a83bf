// Writes GGUF files into a folder, each type of tensor once, with a positional head in layer 1,
// head 2, and compares what tensors.hpp and weights.hpp read from them with a decoder and with
// norms of its own; the same models as folders of Hugging Face; and files that are wrong in one way
// each, for check.cmake. And queries and keys of a head that attends by position and of one that
// attends by content.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/gguf/writer.hpp"
#include "program/run/small_model.hpp"
#include "program/tensors/weights.hpp"
#include "weights.hpp"

namespace {

using namespace norms;

#ifdef POSENC_READS_MODELS
constexpr bool reads_folders = true;
#else
constexpr bool reads_folders = false;
#endif

int mistakes = 0;

void expect(bool holds, std::string const& what) {
  if (holds) return;
  if (mistakes < 20) std::printf("this must hold: %s\n", what.c_str());
  ++mistakes;
}

// The same on every platform.
class random_numbers {
 public:
  std::uint32_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  double between(double low, double high) { return low + (high - low) * bits() * 0x1p-31; }

 private:
  std::uint64_t state_ = 1;
};

unsigned byte_at(std::string const& data, std::size_t at) {
  return static_cast<unsigned char>(data[at]);
}

// So many bits of the data from a bit on, the lowest bit of each byte first.
unsigned bits_at(std::string const& data, std::size_t first_bit, std::size_t count) {
  unsigned result = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const bit = first_bit + i;
    result |= (byte_at(data, bit / 8) >> bit % 8 & 1u) << i;
  }
  return result;
}

// A number of 1 sign bit, so many exponent bits and so many fraction bits, from a byte on.
double floating(std::string const& data, std::size_t at, std::size_t exponent_bits,
                std::size_t fraction_bits) {
  auto const fraction = bits_at(data, 8 * at, fraction_bits);
  auto const exponent = static_cast<int>(bits_at(data, 8 * at + fraction_bits, exponent_bits));
  auto const sign = bits_at(data, 8 * at + fraction_bits + exponent_bits, 1) != 0 ? -1.0 : 1.0;
  auto const bias = (1 << (exponent_bits - 1)) - 1;
  auto const least = std::ldexp(1.0, -static_cast<int>(fraction_bits));
  return sign *
         std::ldexp(fraction * least + (exponent != 0 ? 1 : 0), std::max(exponent, 1) - bias);
}
double half_at(std::string const& data, std::size_t at) { return floating(data, at, 5, 10); }

// One number of a row, by its place alone; its encoder writes the bytes of a row.
struct coding {
  char const* name;
  std::uint32_t type;
  std::function<double(std::string const&, std::size_t)> decode;
  std::function<std::string(std::vector<double> const&)> encode;
};

// The inverse of `floating`, rounded to the nearest, ties upwards.
std::uint32_t floating_bits(double x, int exponent_bits, int fraction_bits) {
  auto const bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = 0;
  std::frexp(x, &exponent);  // of 0.5 to 1; numbers below the normal ones keep their exponent
  exponent = std::max(exponent - 1, 1 - bias);
  auto const steps = std::floor(std::ldexp(std::abs(x), fraction_bits - exponent) + 0.5);
  // The bit that is not stored, where there is one, adds 1 to the exponent.
  auto const magnitude = static_cast<std::uint32_t>(steps) +
                         (static_cast<std::uint32_t>(exponent + bias - 1) << fraction_bits);
  return magnitude | (x < 0 ? 1u << (exponent_bits + fraction_bits) : 0u);
}

std::string encode_each(std::vector<double> const& row, int exponent_bits, int fraction_bits) {
  gguf_text out;
  for (auto const x : row) {
    auto const bits = floating_bits(x, exponent_bits, fraction_bits);
    if (fraction_bits == 23)
      out.number(bits);
    else
      out.number(static_cast<std::uint16_t>(bits));
  }
  return out.str();
}

std::string encode_q8_0(std::vector<double> const& row) {
  gguf_text out;
  for (std::size_t block = 0; block < row.size(); block += 32) {
    double most = 1e-4;
    for (std::size_t i = 0; i < 32; ++i) most = std::max(most, std::abs(row[block + i]));
    auto const d = most / 127;
    out.number(static_cast<std::uint16_t>(floating_bits(d, 5, 10)));
    for (std::size_t i = 0; i < 32; ++i)
      out.number(static_cast<std::int8_t>(std::lround(row[block + i] / d)));
  }
  return out.str();
}

// Bits [low, low + 6) of a part are spread as tensors.hpp says; where each goes is written here as
// a list of (bit of the 96, bit of the number) that decoder and encoder share.
std::size_t place_of(std::size_t part, bool least, std::size_t bit) {
  if (part < 4) return 8 * (part + (least ? 4 : 0)) + bit;
  if (bit < 4) return 8 * (part + 4) + (least ? 4 : 0) + bit;
  return 8 * (part - 4 + (least ? 4 : 0)) + 2 + bit;
}

double decode_q4_k(std::string const& data, std::size_t i) {
  auto const block = 144 * (i / 256), part = i % 256 / 32, scales = 8 * (block + 4);
  unsigned number[2] = {};
  for (std::size_t bit = 0; bit < 6; ++bit)
    for (auto const least : {false, true})
      number[least ? 1 : 0] |= bits_at(data, scales + place_of(part, least, bit), 1) << bit;
  // Parts 2i and 2i + 1 lie in the low and high halves of the same bytes.
  auto const q = bits_at(data, 8 * (block + 16 + 32 * (part / 2) + i % 32) + 4 * (part % 2), 4);
  return half_at(data, block) * number[0] * q - half_at(data, block + 2) * number[1];
}

std::string encode_q4_k(std::vector<double> const& row) {
  std::string out;
  for (std::size_t first = 0; first < row.size(); first += 256) {
    std::vector<double> low(8, 0.0), step(8, 1e-4);
    double most_low = 1e-4, most_step = 1e-4;
    for (std::size_t i = 0; i < 256; ++i) low[i / 32] = std::max(low[i / 32], -row[first + i]);
    for (std::size_t i = 0; i < 256; ++i)
      step[i / 32] = std::max(step[i / 32], (row[first + i] + low[i / 32]) / 15);
    for (std::size_t part = 0; part < 8; ++part)
      most_low = std::max(most_low, low[part]), most_step = std::max(most_step, step[part]);
    auto const d = most_step / 63, m = most_low / 63;
    std::string block = gguf_text()
                            .number(static_cast<std::uint16_t>(floating_bits(d, 5, 10)))
                            .number(static_cast<std::uint16_t>(floating_bits(m, 5, 10)))
                            .str();
    block.resize(144, '\0');
    auto const set = [&](std::size_t bit, unsigned value) {
      block[bit / 8] = static_cast<char>(byte_at(block, bit / 8) | (value & 1u) << bit % 8);
    };
    for (std::size_t part = 0; part < 8; ++part) {
      auto const s = static_cast<unsigned>(std::lround(step[part] / d));
      auto const l = static_cast<unsigned>(std::lround(low[part] / m));
      for (std::size_t bit = 0; bit < 6; ++bit)
        set(32 + place_of(part, false, bit), s >> bit),
            set(32 + place_of(part, true, bit), l >> bit);
      for (std::size_t i = 0; i < 32; ++i) {
        auto const x = (row[first + 32 * part + i] + m * l) / (d * s);
        auto const q = static_cast<unsigned>(std::fmax(0, std::fmin(15, std::floor(x + 0.5))));
        for (std::size_t bit = 0; bit < 4; ++bit)
          set(8 * (16 + 32 * (part / 2) + i) + 4 * (part % 2) + bit, q >> bit);
      }
    }
    out += block;
  }
  return out;
}

coding of_floats(char const* name, std::uint32_t type, int exponent_bits, int fraction_bits) {
  auto const e = static_cast<std::size_t>(exponent_bits),
             f = static_cast<std::size_t>(fraction_bits);
  return {name, type,
          [=](std::string const& data, std::size_t i) {
            return floating(data, i * (1 + e + f) / 8, e, f);
          },
          [=](std::vector<double> const& row) {
            return encode_each(row, exponent_bits, fraction_bits);
          }};
}

std::vector<coding> const codings{of_floats("f32", 0, 8, 23),
                                  of_floats("f16", 1, 5, 10),
                                  of_floats("bf16", 30, 8, 7),
                                  {"q8_0", 8,
                                   [](std::string const& data, std::size_t i) {
                                     auto const block = 34 * (i / 32);
                                     auto const q =
                                         static_cast<int>(byte_at(data, block + 2 + i % 32));
                                     return half_at(data, block) * (q < 128 ? q : q - 256);
                                   },
                                   encode_q8_0},
                                  {"q4_k", 12, decode_q4_k, encode_q4_k}};

void write(std::string const& file, std::string const& bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// ---- numbers of tensors

// Any bytes are a number, but for halves and floats that are not finite: bit 6 of the upper byte of
// each is cleared.
void decoders_agree(std::string const& folder, random_numbers& random) {
  constexpr std::size_t rows = 5, columns = 512;
  for (auto const& c : codings) {
    auto const* const format = program::format_of(c.type);
    std::string data(rows * columns / format->numbers * format->bytes, '\0');
    for (auto& byte : data) byte = static_cast<char>(random.bits());
    for (std::size_t block = 0; block < data.size(); block += format->bytes)
      for (auto const upper : format->numbers == 256  ? std::vector<std::size_t>{1, 3}
                              : format->numbers == 32 ? std::vector<std::size_t>{1}
                                                      : std::vector{format->bytes - 1})
        data[block + upper] = static_cast<char>(byte_at(data, block + upper) & 0xbfu);
    auto const file = folder + "/" + c.name + "-bytes.gguf";
    write(file,
          gguf_writer().tensor("before", {1, 2}).tensor("t", {columns, rows}, c.type, data).str());
    std::size_t seen = 0, wrong = 0;
    program::weight_files(file).at("t").each_row(1, rows - 2, [&](auto row, auto const numbers) {
      for (std::size_t i = 0; i < columns; ++i)
        wrong += numbers[i] !=
                 static_cast<float>(c.decode(data, static_cast<std::size_t>(row) * columns + i));
      seen += numbers.size();
    });
    expect(seen == (rows - 2) * columns, std::string(c.name) + ": has all numbers of the rows");
    expect(wrong == 0, std::string(c.name) +
                           ": each number is that of the other decoder, but for " +
                           std::to_string(wrong));
  }
}

// Blocks worked out by hand from the description in tensors.hpp.
void decodes_blocks_written_by_hand(std::string const& folder) {
  std::string q8(34, '\0');
  q8[1] = 0x30;  // d = 0.125
  q8[2] = static_cast<char>(0x80), q8[33] = 0x7f;
  std::string q4(144, '\0');
  q4[1] = 0x38, q4[3] = 0x34;  // d = 0.5, m = 0.25
  q4[4] = 1, q4[8] = 2;        // part 0: s = 1, l = 2
  // Part 5: s = 53 = 3 * 16 + 5, l = 46 = 2 * 16 + 14.
  q4[5] = static_cast<char>(0xc0), q4[9] = static_cast<char>(0x80),
  q4[13] = static_cast<char>(0xe5);
  q4[16] = 7;                               // part 0, number 0
  q4[16 + 67] = static_cast<char>(9 << 4);  // part 5, number 3
  auto const file = folder + "/by-hand.gguf";
  write(file, gguf_writer().tensor("q8", {32}, 8, q8).tensor("q4", {256}, 12, q4).str());
  program::weight_files const in(file);
  in.at("q8").each_row(0, 1, [](auto, auto const x) {
    expect(x[0] == -16 && x[1] == 0 && x[31] == 15.875f, "a block of Q8_0 by hand");
  });
  in.at("q4").each_row(0, 1, [](auto, auto const x) {
    expect(x[0] == 3 && x[1] == -0.5f && x[32] == 0, "a block of Q4_K by hand: the first parts");
    expect(x[163] == 227 && x[160] == -11.5f && x[96] == 0, "a block of Q4_K by hand: part 5");
  });
}

// ---- heads of models

constexpr std::size_t layers = 3, heads = 4, key_heads = 2, head_dim = 64, inputs = 256;
constexpr std::size_t planted_layer = 1, planted_head = 2;

struct model {
  char const* architecture;
  std::size_t pairs;
  bool interleaved, joined, bias, norm;
  float attention_factor = 1;  // of queries and of keys
};

// Of all heads of queries or keys of a layer.
struct planted {
  std::vector<std::vector<double>> rows;  // as they are decoded
  std::vector<double> bias, norm;
  std::string data;
};

std::size_t row_of(model const& m, std::size_t pair, bool second) {
  if (m.interleaved) return 2 * pair + (second ? 1 : 0);
  return pair + (second ? m.pairs : 0);
}

double inv_freq(model const& m, std::size_t pair) {
  return std::pow(10'000.0, -static_cast<double>(pair) / static_cast<double>(m.pairs));
}

planted plant(model const& m, coding const& c, std::size_t count, std::size_t head, double gain,
              random_numbers& random) {
  planted result;
  for (std::size_t row = 0; row < count * head_dim; ++row) {
    double size = 0.02 * random.between(0.9, 1.1);
    for (std::size_t pair = 0; pair < m.pairs; ++pair)
      for (auto const second : {false, true})
        if (row == head * head_dim + row_of(m, pair, second) &&
            2 * 3.14159265358979 / inv_freq(m, pair) <= 32)
          size *= gain;
    std::vector<double> numbers(inputs);
    for (auto& x : numbers) x = random.between(-size, size);
    auto const bytes = c.encode(numbers);
    for (std::size_t i = 0; i < inputs; ++i) {
      auto const read = c.decode(bytes, i);
      expect(std::abs(read - numbers[i]) <= size / 14, std::string(c.name) + ": keeps numbers");
      numbers[i] = read;
    }
    result.data += bytes;
    result.rows.push_back(numbers);
    if (m.bias) result.bias.push_back(static_cast<float>(random.between(-size, size) * 8));
  }
  for (std::size_t i = 0; m.norm && i < head_dim; ++i)
    result.norm.push_back(static_cast<float>(random.between(0.5, 1.5)));
  return result;
}

// [head][pair], then what does not rotate.
std::vector<std::vector<double>> norms_of(model const& m, planted const& p) {
  std::vector<std::vector<double>> result;
  for (std::size_t head = 0; head < p.rows.size() / head_dim; ++head) {
    std::vector<double> squares;
    double sum = 0;
    for (std::size_t i = 0; i < head_dim; ++i) {
      auto const row = head * head_dim + i;
      double square = m.bias ? p.bias[row] * p.bias[row] : 0;
      for (auto const x : p.rows[row]) square += x * x;
      squares.push_back(square), sum += square;
    }
    for (std::size_t i = 0; m.norm && i < head_dim; ++i)
      squares[i] *= p.norm[i] * p.norm[i] * head_dim / sum;
    auto& norms = result.emplace_back();
    double rest = 0;
    for (auto const square : squares) rest += square;
    for (std::size_t pair = 0; pair < m.pairs; ++pair) {
      auto const both = squares[row_of(m, pair, false)] + squares[row_of(m, pair, true)];
      norms.push_back(std::sqrt(both));
      rest -= both;
    }
    norms.push_back(std::sqrt(std::max(rest, 0.0)));
  }
  return result;
}

gguf_writer settings_of(model const& m, std::uint32_t count = heads,
                        std::uint32_t key_count = key_heads, std::uint32_t blocks = layers) {
  std::string const type = m.architecture;
  gguf_writer out;
  out.set("general.architecture", m.architecture)
      .set(type + ".block_count", blocks)
      .set(type + ".context_length", std::uint32_t{4096})
      .set(type + ".embedding_length", std::uint32_t{inputs})
      .set(type + ".attention.key_length", std::uint32_t{head_dim})
      .set(type + ".attention.head_count_kv", key_count)
      .set(type + ".rope.freq_base", 10'000.0f)
      .set(type + ".rope.dimension_count", static_cast<std::uint32_t>(2 * m.pairs));
  if (m.attention_factor != 1) out.set(type + ".rope.scaling.attn_factor", m.attention_factor);
  if (count != 0) out.set(type + ".attention.head_count", count);
  return out;
}

// Rows as a folder of Hugging Face has them: pairs are halves there.
std::vector<float> rows_in_halves(model const& m, planted const& p) {
  std::vector<float> numbers;
  for (std::size_t row = 0; row < p.rows.size(); ++row) {
    auto const dim = row % head_dim, pair = dim % m.pairs;
    auto const from = m.interleaved && dim < 2 * m.pairs
                          ? row - dim + 2 * pair + (dim < m.pairs ? 0 : 1)
                          : row;
    numbers.insert(numbers.end(), p.rows[from].begin(), p.rows[from].end());
  }
  return numbers;
}

// The same model as a folder with config.json and model.safetensors has the same norms. (An
// attention factor is in GGUF alone, so shares are compared where there is none.)
void as_a_folder_too(std::string const& folder, model const& m, coding const& c,
                     std::vector<planted> const& q, std::vector<planted> const& k,
                     model_of_weights const& of_gguf) {
  std::vector<small_model::stored_tensor> tensors;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    auto const prefix = "model.layers." + std::to_string(layer) + ".self_attn.";
    auto query_rows = rows_in_halves(m, q[layer]);
    auto const key_rows = rows_in_halves(m, k[layer]);
    auto const add = [&](std::string const& name, std::vector<std::size_t> const& shape,
                         auto const& numbers) {
      tensors.push_back({prefix + name, shape, {numbers.begin(), numbers.end()}});
    };
    if (m.joined) {
      for (int i = 0; i < 2; ++i)
        query_rows.insert(query_rows.end(), key_rows.begin(), key_rows.end());
      add("qkv_proj.weight", {(heads + 2 * key_heads) * head_dim, inputs}, query_rows);
    } else {
      add("q_proj.weight", {heads * head_dim, inputs}, query_rows);
      add("k_proj.weight", {key_heads * head_dim, inputs}, key_rows);
    }
    for (auto const& [name, of] : {std::pair{"q", &q[layer]}, std::pair{"k", &k[layer]}}) {
      if (m.bias) add(name + std::string("_proj.bias"), {of->bias.size()}, of->bias);
      if (m.norm) add(name + std::string("_norm.weight"), {head_dim}, of->norm);
    }
  }
  auto const name = folder + "/" + c.name;
  small_model::write(
      name,
      R"({"model_type": ")" + std::string(m.architecture) + R"(", "num_hidden_layers": )" +
          std::to_string(layers) + R"(, "num_attention_heads": 4, "num_key_value_heads": 2,
 "hidden_size": 256, "head_dim": 64, "rope_theta": 10000, "max_position_embeddings": 4096,
 "original_max_position_embeddings": 4096, "partial_rotary_factor": )" +
          std::to_string(2 * static_cast<double>(m.pairs) / head_dim) + "}",
      tensors);
  if (!reads_folders) return;
  auto const found = read_weights(name, {}, {});
  for (std::size_t layer = 0; layer < layers; ++layer) {
    auto const &a = found.layers.at(layer), &b = of_gguf.layers[layer];
    expect(a.queries == b.queries && a.keys == b.keys,
           name + ": a folder has the norms of the GGUF file, layer " + std::to_string(layer));
    for (std::size_t head = 0; head < heads && m.attention_factor == 1; ++head)
      expect(a.heads.at(head).share == b.heads[head].share, name + ": and its shares");
    expect(a.biases.size() == b.biases.size() && a.norm_behind == b.norm_behind,
           name + ": and its biases");
  }
}

void finds_the_planted_head(std::string const& folder, model const& m, coding const& c,
                            random_numbers& random) {
  auto out = settings_of(m);
  std::vector<std::vector<std::vector<double>>> query_norms, key_norms;
  std::vector<planted> query_parts, key_parts;  // of each layer
  auto const floats = [](std::vector<double> const& x) {
    return std::vector<float>(x.begin(), x.end());
  };
  // The same in a file for each layer, the first with the keys.
  std::vector<gguf_writer> parts(layers);
  parts[0] = settings_of(m);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    parts[layer].set("split.no", static_cast<std::uint16_t>(layer));
    parts[layer].set("split.count", static_cast<std::uint16_t>(layers));
    auto const here = layer == planted_layer;
    auto const q = plant(m, c, heads, planted_head, here ? 16 : 1, random);
    auto const k = plant(m, c, key_heads, planted_head * key_heads / heads, here ? 2 : 1, random);
    query_norms.push_back(norms_of(m, q)), key_norms.push_back(norms_of(m, k));
    query_parts.push_back(q), key_parts.push_back(k);
    auto const block = "blk." + std::to_string(layer) + ".attn_";
    for (auto* const to : {&out, &parts[layer]}) {
      if (m.joined) {
        to->tensor(block + "qkv.weight", {inputs, (heads + 2 * key_heads) * head_dim}, c.type,
                   q.data + k.data + k.data);
      } else {
        to->tensor(block + "q.weight", {inputs, heads * head_dim}, c.type, q.data);
        to->tensor(block + "k.weight", {inputs, key_heads * head_dim}, c.type, k.data);
      }
      if (m.bias)
        to->tensor(block + "q.bias", floats(q.bias)).tensor(block + "k.bias", floats(k.bias));
      if (m.norm)
        to->tensor(block + "q_norm.weight", floats(q.norm))
            .tensor(block + "k_norm.weight", floats(k.norm));
    }
  }
  auto const file = folder + "/" + c.name + ".gguf";
  write(file, out.str());
  auto const part_name = [&](std::size_t i) {
    return folder + "/" + c.name + "-0000" + std::to_string(i + 1) + "-of-00003.gguf";
  };
  for (std::size_t i = 0; i < layers; ++i) write(part_name(i), parts[i].str());
  auto const of_parts = read_weights(part_name(0), {}, {}), of_one = read_weights(file, {}, {});
  for (std::size_t layer = 0; layer < layers; ++layer)
    expect(of_parts.layers.at(layer).queries == of_one.layers.at(layer).queries &&
               of_parts.layers[layer].keys == of_one.layers[layer].keys,
           std::string(c.name) + ": a model in three files has the norms of the same in one");

  as_a_folder_too(folder, m, c, query_parts, key_parts, of_one);

  auto const& found = of_one;
  double off = 0;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      auto const& q = query_norms[layer][head];
      auto const& k = key_norms[layer][head / 2];
      auto const& read = found.layers.at(layer).heads.at(head);
      double sum = q[m.pairs] * k[m.pairs], fast = 0;
      auto const gain = static_cast<double>(m.attention_factor * m.attention_factor);
      for (std::size_t i = 0; i < m.pairs; ++i) sum += gain * q[i] * k[i];
      for (std::size_t i = 0; i < m.pairs; ++i) {
        if (2 * 3.14159265358979 / inv_freq(m, i) <= 32) fast += gain * q[i] * k[i] / sum;
        off = std::max(off, std::abs(found.layers[layer].queries[head].at(i) / q[i] - 1));
        off = std::max(off, std::abs(found.layers[layer].keys[head / 2].at(i) / k[i] - 1));
        off = std::max(off, std::abs(read.share.at(i) * sum / (gain * q[i] * k[i]) - 1));
      }
      off = std::max(off, std::abs(read.fast - fast));
      expect((read.fast > 0.5) == (layer == planted_layer && head == planted_head),
             std::string(c.name) + ": the planted head alone is fast, layer " +
                 std::to_string(layer) + ", head " + std::to_string(head) + ", " +
                 std::to_string(read.fast));
      expect(read.key_head == head / 2, std::string(c.name) + ": grouped queries");
    }
  }
  // Sums of at most 1024 squares in double; 1 - sum of the rest's difference.
  expect(off < 1e-11, std::string(c.name) +
                          ": norms and shares are those of the other program, off by " +
                          std::to_string(off * 1e12) + "e-12");
}

// A layer as GGUF and as a folder of Hugging Face, in types whose folders have other names, rows in
// another order or weights that 1 is added to.
void finds_the_tensors_of_other_families(std::string const& folder, random_numbers& random) {
  model const m{"llama", 32, false, false, false, false};
  auto const all = plant(m, codings.front(), 3 * heads, 0, 1, random);  // queries, keys, values
  auto const some = [&](std::size_t first, std::size_t count) {
    std::vector<float> rows;
    for (auto row = first * head_dim; row < (first + count) * head_dim; ++row)
      rows.insert(rows.end(), all.rows[row].begin(), all.rows[row].end());
    return rows;
  };
  auto const bytes = [](std::vector<float> const& numbers) {
    gguf_text out;
    for (auto const x : numbers) out.number(x);
    return out.str();
  };
  auto const compare = [&](char const* gguf_type, char const* type, std::string const& more,
                           std::function<void(gguf_writer&)> const& add,
                           std::vector<small_model::stored_tensor> const& tensors) {
    auto const name = folder + "/" + type;
    model of = m;
    of.architecture = gguf_type;
    auto out = settings_of(of, heads, heads, 1);
    add(out);
    write(name + ".gguf", out.str());
    small_model::write(name,
                       R"({"model_type": ")" + std::string(type) +
                           R"(", "num_hidden_layers": 1, "num_attention_heads": 4,
 "num_key_value_heads": 4, "hidden_size": 256, "head_dim": 64, "max_position_embeddings": 4096)" +
                           more + "}",
                       tensors);
    auto const a = read_weights(name + ".gguf", {}, {}), b = read_weights(name, {}, {});
    expect(a.layers.at(0).queries == b.layers.at(0).queries && a.layers[0].keys == b.layers[0].keys,
           std::string(type) + ": a folder has the norms of the GGUF file");
  };
  constexpr std::uint64_t rows = heads * head_dim;
  std::vector<float> by_head;
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t of = 0; of < 3; ++of) {
      auto const one = some(of * heads + head, 1);
      by_head.insert(by_head.end(), one.begin(), one.end());
    }
  compare(
      "gptneox", "gpt_neox", R"(, "rotary_pct": 1.0)",
      [&](gguf_writer& out) {
        out.tensor("blk.0.attn_qkv.weight", {inputs, 3 * rows}, 0, bytes(some(0, 3 * heads)));
      },
      {{"gpt_neox.layers.0.attention.query_key_value.weight", {3 * rows, inputs}, by_head}});

  auto const separate = [&](gguf_writer& out) -> gguf_writer& {
    return out.tensor("blk.0.attn_q.weight", {inputs, rows}, 0, bytes(some(0, heads)))
        .tensor("blk.0.attn_k.weight", {inputs, rows}, 0, bytes(some(heads, heads)));
  };
  auto const with = [&](std::string const& prefix,
                        std::vector<small_model::stored_tensor> norms) {
    norms.push_back({prefix + "q_proj.weight", {rows, inputs}, some(0, heads)});
    norms.push_back({prefix + "k_proj.weight", {rows, inputs}, some(heads, heads)});
    return norms;
  };
  std::vector<float> norm(rows), less(head_dim);
  for (std::size_t i = 0; i < rows; ++i) norm[i] = static_cast<float>(i % 7) / 4 + 0.5f;
  std::vector<float> const of_head(norm.begin(), norm.begin() + head_dim);
  for (std::size_t i = 0; i < head_dim; ++i) less[i] = norm[i] - 1;
  std::string const gemma = "language_model.model.layers.0.self_attn.";
  compare(
      "gemma3", "gemma3_text", R"(, "sliding_window": 512, "rope_theta": 10000)",
      [&](gguf_writer& out) {
        separate(out)
            .tensor("blk.0.attn_q_norm.weight", of_head)
            .tensor("blk.0.attn_k_norm.weight", of_head);
      },
      with(gemma, {{"language_model.model.embed_tokens.weight", {1, 1}, {0}},
                   {gemma + "q_norm.weight", {head_dim}, less},
                   {gemma + "k_norm.weight", {head_dim}, less}}));

  std::string const stablelm = "model.layers.0.self_attn.";
  std::vector<small_model::stored_tensor> norms;
  for (std::size_t head = 0; head < heads; ++head)
    for (auto const* const of : {"q", "k"})
      norms.push_back({stablelm + of + "_layernorm.norms." + std::to_string(head) + ".weight",
                       {head_dim},
                       {norm.begin() + static_cast<std::ptrdiff_t>(head * head_dim),
                        norm.begin() + static_cast<std::ptrdiff_t>((head + 1) * head_dim)}});
  compare(
      "stablelm", "stablelm", R"(, "partial_rotary_factor": 1.0, "qk_layernorm": true)",
      [&](gguf_writer& out) {
        separate(out)
            .tensor("blk.0.attn_q_norm.weight", {head_dim, heads}, 0, bytes(norm))
            .tensor("blk.0.attn_k_norm.weight", {head_dim, heads}, 0, bytes(norm));
      },
      with(stablelm, norms));
}

// One layer whose key head 1 has a bias in pair 20, 300 times what W x has there, inputs counting
// twice by the weights of their norm; and the same with a norm of keys behind it.
void finds_the_planted_bias(std::string const& folder, random_numbers& random) {
  model const m{"qwen2", 32, false, false, true, false};
  auto const q = plant(m, codings.front(), heads, 0, 1, random),
             k = plant(m, codings.front(), key_heads, 0, 1, random);
  double inner = 0;
  for (std::size_t row = head_dim; row < 2 * head_dim; ++row)
    for (auto const x : k.rows[row]) inner += 4 * x * x;
  auto const unit = std::sqrt(inner / head_dim);
  std::vector<float> bias(key_heads * head_dim);
  bias[head_dim + 20] = static_cast<float>(240 * unit);
  bias[head_dim + 52] = static_cast<float>(-180 * unit);
  for (auto const* const name : {"biased", "normed"}) {
    auto out = settings_of(m, heads, key_heads, 1);
    out.tensor("blk.0.attn_q.weight", {inputs, heads * head_dim}, 0, q.data)
        .tensor("blk.0.attn_k.weight", {inputs, key_heads * head_dim}, 0, k.data)
        .tensor("blk.0.attn_k.bias", bias)
        .tensor("blk.0.attn_norm.weight", std::vector<float>(inputs, 2.0f));
    if (name == std::string("normed"))
      out.tensor("blk.0.attn_k_norm.weight", std::vector<float>(head_dim, 1.0f));
    write(folder + "/" + name + ".gguf", out.str());
  }
  auto const found = read_weights(folder + "/biased.gguf", {}, {}).layers.at(0).biases;
  auto const near = [](double a, double b, double part) { return std::abs(a / b - 1) < part; };
  expect(found.size() == key_heads && found[0].norm == 0 && found[0].outlying.empty(),
         "head 0 has no bias");
  expect(near(found[1].norm, 300 * unit, 1e-6) && near(found[1].norms[20], 300 * unit, 1e-6),
         "the norm of the bias is 300");
  expect(near(found[1].share, 90'000.0 / (90'000 + head_dim), 1e-6), "its part of a key");
  expect(found[1].outlying == std::vector<std::size_t>{20}, "pair 20 is outlying");
  // Codes of 300 cos and 300 sin, each the largest of 32: steps of 1 / 127, errors of a 12th of
  // their squares.
  double queries = 0;  // mean square of a dim, of both query heads of key head 1
  for (std::size_t row = 2 * head_dim; row < 4 * head_dim; ++row)
    for (auto const x : q.rows[row]) queries += 4 * x * x / (2 * head_dim);
  auto const off = 300 * unit / 127 * std::sqrt(queries * 32 / 12 / head_dim);
  expect(near(found[1].ways[0], off, 0.1), "the error of q8_0 is that of its step");
  expect(found[1].ways[1] < found[1].ways[0] / 60 &&
             near(found[1].ways[1], 0.0054 * unit * std::sqrt(queries), 0.15),
         "with the bias out it is that of W x");
}

// ---- files that are wrong

void write_wrong_files(std::string const& folder, model const& m, random_numbers& random) {
  auto const& f32 = codings.front();
  auto const q = plant(m, f32, heads, 0, 1, random), k = plant(m, f32, key_heads, 0, 1, random);
  constexpr std::uint64_t query_rows = heads * head_dim, key_rows = key_heads * head_dim;
  auto const name = [&](char const* what) { return folder + "/" + what + ".gguf"; };
  auto const with = [&](gguf_writer out, std::vector<std::uint64_t> const& query_dims,
                        std::uint32_t type, std::string_view data) {
    return out.tensor("blk.0.attn_q.weight", query_dims, type, data)
        .tensor("blk.0.attn_k.weight", {inputs, key_rows}, 0, k.data)
        .str();
  };
  auto const right = with(settings_of(m), {inputs, query_rows}, 0, q.data);
  write(name("truncated"), right.substr(0, right.size() - 5));
  write(name("cut-header"), right.substr(0, 200));
  write(name("one-layer"), right);
  write(name("unknown-type"), with(settings_of(m), {inputs, query_rows}, 24, q.data));
  write(name("wrong-rows"), with(settings_of(m), {2 * inputs, query_rows / 2}, 0, q.data));
  write(name("no-blocks"), with(settings_of(m), {inputs / 2, query_rows}, 12, q.data));
  auto not_finite = q.data;
  not_finite[4 * inputs + 3] = 0x7f, not_finite[4 * inputs + 2] = static_cast<char>(0xc0);
  write(name("not-finite"), with(settings_of(m), {inputs, query_rows}, 0, not_finite));
  write(name("wrong-bias"), with(settings_of(m).tensor("blk.0.attn_q.bias", {1.0f, 2.0f}),
                                 {inputs, query_rows}, 0, q.data));
  write(name("wrong-norm"), with(settings_of(m).tensor("blk.0.attn_q_norm.weight", {1.0f, 2.0f}),
                                 {inputs, query_rows}, 0, q.data));
  write(name("one-file-of-2"),
        with(settings_of(m).set("split.count", std::uint16_t{2}), {inputs, query_rows}, 0, q.data));
  write(name("wrong-heads"), with(settings_of(m, heads, 3), {inputs, query_rows}, 0, q.data));
  write(name("no-heads"), with(settings_of(m, 0), {inputs, query_rows}, 0, q.data));
  write(name("no-rotation"), gguf_writer()
                                 .set("general.architecture", "gpt2")
                                 .set("gpt2.block_count", std::uint32_t{1})
                                 .set("gpt2.embedding_length", std::uint32_t{inputs})
                                 .set("gpt2.attention.head_count", std::uint32_t{heads})
                                 .str());
}

// [64 tokens][2 heads][64], halves, of base 10,000: of the six fastest pairs, the key one token on,
// and of the six slowest, each key of a meaning of its own.
void write_two_heads(std::string const& folder, random_numbers& random) {
  constexpr std::size_t tokens = 64, count = 2, dim = 64, half = dim / 2;
  std::vector<double> q(tokens * count * dim), k(q.size());
  for (std::size_t t = 0; t < tokens; ++t) {
    auto const position = t * count * dim, content = position + dim;
    for (std::size_t i = 0; i < 6; ++i) {
      auto const turn = std::pow(10'000.0, -2.0 * static_cast<double>(i) / dim);
      q[position + i] = 7;
      k[position + i] = 7 * std::cos(turn), k[position + half + i] = 7 * std::sin(turn);
      q[content + half - 1 - i] = 4, k[content + half - 1 - i] = random.between(-4, 4);
    }
  }
  for (auto const& [name, numbers] : {std::pair{"/q.npy", &q}, std::pair{"/k.npy", &k}}) {
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (64, 2, 64), }";
    header.resize(117, ' ');
    std::ofstream out(folder + name, std::ios::binary);
    out << std::string("\x93NUMPY\x01\0\x76\0", 10) << header << '\n';
    out.write(reinterpret_cast<char const*>(numbers->data()),
              static_cast<std::streamsize>(numbers->size() * sizeof(double)));
  }
  small_model::write(folder + "/two", "{}",
                     {{"q", {tokens, count, dim}, {q.begin(), q.end()}},
                      {"k", {tokens, count, dim}, {k.begin(), k.end()}}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string const folder = argv[1];
  random_numbers random;
  decoders_agree(folder, random);
  decodes_blocks_written_by_hand(folder);
  model const llama{"llama", 32, true, false, false, false};
  model const models[]{llama,
                       {"qwen2", 32, false, false, true, false},
                       {"qwen3", 32, false, false, false, true},
                       {"phi3", 32, false, true, false, false},
                       {"stablelm", 8, false, false, false, false, 1.5f}};
  for (std::size_t i = 0; i < codings.size(); ++i)
    finds_the_planted_head(folder, models[i], codings[i], random);
  write_wrong_files(folder, llama, random);
  write_two_heads(folder, random);
  finds_the_planted_bias(folder, random);
  if (reads_folders) finds_the_tensors_of_other_families(folder, random);
  return mistakes == 0 ? 0 : 1;
}
