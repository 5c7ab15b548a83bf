// What does not compile, each case alone with -Dcase_NAME. The sentence above a case, or above
// several between #ifdef and #endif, is the compiler's first error.
#include "posenc/analysis/distance_profile.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/query_key/remapped.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/unprojected.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/softmax.hpp"

using namespace posenc;

// Acts at site 4, and at site 3 in a function that is not const.
struct not_const {
  double inverse_temperature(row_statistics const&) const { return 2; }
  void adjust_scores(auto const&) {}
};

// Acts at site 2 by what prepare returns.
template <class Prepared>
struct prepares {
  template <class>
  Prepared prepare(positions_view) const {
    return {};
  }
};

struct encodes {
  void encode_queries(auto const&, std::size_t) const {}
  void encode_keys(auto const&, std::size_t) const {}
};

constexpr auto same = [](std::int64_t t) { return t; };

// posenc needs C++20
#ifdef case_cxx17_posenc
#include "posenc/posenc.hpp"
#endif

// posenc: this type acts nowhere: an encoding must have embed (site 1), prepare (2), bias or
// adjust_scores (3), inverse_temperature or sink (4)
#ifdef case_misspelt
struct wrong {
  void adjust_score(auto const&) const {}
};
void use() { scheme{wrong{}}; }
#elif defined case_number_in_a_scheme
void use() { scheme{nope{}, 5}; }
#elif defined case_wrapper_of_nothing
template <class Inner>
struct around {
  static constexpr bool wraps_encodings = true;
  void adjust_scores(auto const& row) const requires(acts_on_scores<Inner>) {
    Inner().adjust_scores(row);
  }
};
void use() { scheme{around<nope>{}}; }
#endif

// posenc: is_nowhere must not be true of an encoding that acts at a site
#ifdef case_nowhere_and_at_scores
struct wrong {
  static constexpr bool is_nowhere = true;
  void adjust_scores(auto const&) const {}
};
void use() { scheme{wrong{}}; }
#endif

// posenc: heads must be: std::size_t heads() const
#ifdef case_heads_as_number
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  std::size_t heads = 4;
};
void use() { scheme{wrong{}}; }
#endif

// posenc: kv_heads must be: std::size_t kv_heads() const
#ifdef case_kv_heads_of_int
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  int kv_heads() const { return 2; }
};
void use() { scheme{wrong{}}; }
#endif

// posenc: require_heads must be: void require_heads(char const* function, std::size_t count) const
#ifdef case_require_heads_without_function
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  void require_heads(std::size_t) const {}
};
void use() { scheme{wrong{}}; }
#endif

// posenc: changes_temperature must be: bool changes_temperature() const, beside
// inverse_temperature
#ifdef case_changes_temperature_not_const
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  bool changes_temperature() { return false; }
};
void use() { scheme{wrong{}}; }
#elif defined case_changes_temperature_without_it
struct wrong {
  double sink(std::size_t) const { return 2; }
  bool changes_temperature() const { return false; }
};
void use() { scheme{wrong{}}; }
#endif

// posenc: asked must be: auto const& asked() const, which returns what has sees and scale
#ifdef case_asked_without_scale
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  struct answers {
    int sees;
  };
  answers asked() const { return {}; }
};
void use() { scheme{wrong{}}; }
#endif

// posenc: hash must be: std::uint64_t hash() const
#ifdef case_hash_of_int
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  int hash() const { return 2; }
};
void use() { scheme{wrong{}}; }
#endif

// posenc: check, beside asked, must be: void check(char const* function, heads_shape const&
// queries, heads_shape const& keys) const
#ifdef case_check_of_nothing
struct wrong {
  struct answers {
    int sees, scale;
  };
  double inverse_temperature(row_statistics const&) const { return 2; }
  answers asked() const { return {}; }
  void check() const {}
};
void use() { scheme{wrong{}}; }
#endif

// posenc: embed must be: void embed(heads_view<T> x, positions_view positions) const, for T =
// float and T = double
#ifdef case_embed_of_floats
struct wrong {
  void embed(heads_view<float>, positions_view) const {}
};
void use() { scheme{wrong{}}; }
#endif

// posenc: prepare must be: template <class T> auto prepare(positions_view positions) const, for T
// = float and T = double, which returns what has encode_queries and encode_keys
#ifdef case_prepare_not_a_template
struct wrong {
  encodes prepare(positions_view) const { return {}; }
};
void use() { scheme{wrong{}}; }
#elif defined case_encode_queries_without_prepare
struct wrong {
  void encode_queries(auto const&, positions_view) const {}
  void encode_keys(auto const&, positions_view) const {}
};
void use() { scheme{wrong{}}; }
#elif defined case_backward_keys_without_prepare
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  void backward_queries(auto const&, positions_view) const {}
  void backward_keys(auto const&, positions_view) const {}
};
void use() { scheme{wrong{}}; }
#endif

// posenc: what prepare returns must have encode_queries: void encode_queries(heads_view<T> q,
// std::size_t first_token) const
#ifdef case_encode_keys_alone
struct wrong {
  void encode_keys(auto const&, std::size_t) const {}
};
void use() { scheme{prepares<wrong>{}}; }
#elif defined case_encode_queries_not_const
struct wrong {
  void encode_queries(auto const&, std::size_t) {}
  void encode_keys(auto const&, std::size_t) const {}
};
void use() { scheme{prepares<wrong>{}}; }
#endif

// posenc: what prepare returns must have encode_keys: void encode_keys(heads_view<T> k,
// std::size_t first_token) const
#ifdef case_encode_queries_alone
struct wrong {
  void encode_queries(auto const&, std::size_t) const {}
};
void use() { scheme{prepares<wrong>{}}; }
#elif defined case_remapped
struct wrong {
  void encode_queries(auto const&, std::size_t) const {}
};
void use() { remapped(prepares<wrong>{}, same, same); }
#endif

// posenc: backward_queries of what prepare returns must be: void backward_queries(heads_view<T>
// d, std::size_t first_token) const, beside backward_keys
#ifdef case_backward_queries_misspelt
struct wrong : encodes {
  void backward_query(auto const&, std::size_t) const {}
  void backward_keys(auto const&, std::size_t) const {}
};
void use() { scheme{prepares<wrong>{}}; }
#endif

// posenc: backward_keys of what prepare returns must be: void backward_keys(heads_view<T> d,
// std::size_t first_token) const, beside backward_queries
#ifdef case_backward_queries_alone
struct wrong : encodes {
  void backward_queries(auto const&, std::size_t) const {}
};
void use() { scheme{prepares<wrong>{}}; }
#endif

// posenc: what is remapped must act on queries and keys (site 2), and nowhere else
#ifdef case_remapped_temperature
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
};
void use() { remapped(wrong{}, same, same); }
#elif defined case_remapped_with_a_bias
void use() { remapped(scheme{prepares<encodes>{}, alibi(2)}, same, same); }
#endif

// posenc: bias must be: double bias(std::size_t head, std::int64_t distance) const, or double
// bias(std::size_t head, std::int64_t query_position, std::int64_t key_position) const
#ifdef case_bias_not_const
struct wrong {
  double bias(std::size_t, std::int64_t) { return 1; }
};
void use() { scheme{wrong{}}; }
#elif defined case_bias_of_a_distance_alone
struct wrong {
  double bias(std::int64_t distance) const { return -static_cast<double>(distance); }
};
void use() { scheme{wrong{}}; }
#endif

// posenc: the encoding of a bias matrix must add biases: it must have bias (site 3), or is_bias
// beside adjust_scores
#ifdef case_bias_matrix_of_no_bias
void use() { bias_matrix(soft_cap(5), 1, {0}, {0}); }
#endif

// posenc: the rule of a bias_table must have double bias(std::size_t head, std::int64_t distance)
// const (site 3) and act nowhere else
#ifdef case_bias_table_of_no_bias
void use() { bias_table(soft_cap(5), 1, 10); }
#elif defined case_bias_table_with_a_temperature
struct wrong {
  double bias(std::size_t, std::int64_t) const { return 0; }
  double inverse_temperature(row_statistics const&) const { return 2; }
};
void use() { bias_table(wrong{}, 1, 10); }
#endif

// posenc: adjust_scores must be: void adjust_scores(score_row<T> row) const, for T = float and T =
// double
#ifdef case_adjust_scores_in_private
class wrong {
 public:
  double inverse_temperature(row_statistics const&) const { return 2; }

 private:
  void adjust_scores(auto const&) const {}
};
void use() { scheme{wrong{}}; }
#elif defined case_adjust_scores_not_const
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  template <class T>
  void adjust_scores(score_row<T> const&) {}
};
void use() { scheme{wrong{}}; }
#elif defined case_adjust_scores_of_a_final_class
struct wrong final {
  double inverse_temperature(row_statistics const&) const { return 2; }
  void adjust_scores(auto const&) {}
};
void use() { scheme{wrong{}}; }
#elif defined case_adjust_scores_of_a_wrapper
struct wrong {
  static constexpr bool wraps_encodings = true;
  double inverse_temperature(row_statistics const&) const { return 2; }
  void adjust_scores(auto const&) {}
};
void use() { scheme{wrong{}}; }
#elif defined case_adjust_scores_of_floats
struct wrong {
  void adjust_scores(score_row<float>) const {}
};
void use() { scheme{wrong{}}; }
#elif defined case_adjust_scores_of_spans
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  void adjust_scores(std::span<float>) const {}
  void adjust_scores(std::span<double>) const {}
};
void use() { scheme{wrong{}}; }
#elif defined case_scheme_in_a_scheme
void use() { scheme{nope{}, scheme{not_const{}}}; }
#elif defined case_held_by_reference
void use(not_const const& encoding) { scheme<not_const const&>{encoding}; }
#elif defined case_attention
#include "posenc/attention/attention.hpp"
void use(heads_view<float> const& x) { attention(x, x, x, not_const{}); }
#elif defined case_attention_backward
#include "posenc/attention/gradients.hpp"
void use(heads_view<float> const& x) {
  attention_backward(x, x, x, not_const{}, attention_result<float>(), x);
}
#elif defined case_profile_distances
void use() { profile_distances(not_const{}, {}); }
#elif defined case_bias_table
struct wrong {
  void adjust_scores(score_row<float>) const {}
};
void use() { bias_table(wrong{}, 1, 10); }
#endif

// posenc: is_bias must be: static constexpr bool is_bias, beside adjust_scores
#ifdef case_is_bias_as_function
struct wrong {
  void adjust_scores(auto const&) const {}
  bool is_bias() const { return true; }
};
void use() { scheme{wrong{}}; }
#elif defined case_is_bias_of_no_scores
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  static constexpr bool is_bias = true;
};
void use() { scheme{wrong{}}; }
#endif

// posenc: is_pointwise must be: static constexpr bool is_pointwise, beside adjust_scores
#ifdef case_is_pointwise_as_function
struct wrong {
  void adjust_scores(auto const&) const {}
  bool is_pointwise() const { return true; }
};
void use() { scheme{wrong{}}; }
#endif

// posenc: backward_scores must be: void backward_scores(score_row<T const> before, std::span<T>
// d_scores, std::span<T> d_query) const, for T = float and T = double, beside adjust_scores
#ifdef case_backward_scores_without_query
struct wrong {
  void adjust_scores(auto const&) const {}
  template <class T>
  void backward_scores(score_row<T const>, std::span<T>) const {}
};
void use() { scheme{wrong{}}; }
#endif

// posenc: inverse_temperature must be: double inverse_temperature(row_statistics const& row) const
#ifdef case_inverse_temperature_as_number
struct wrong {
  double inverse_temperature = 2;
};
void use() { scheme{wrong{}}; }
#elif defined case_inverse_temperature_beside_a_scheme
struct wrong : scheme<alibi> {
  wrong() : scheme(alibi(1)) {}
  double inverse_temperature(row_statistics const&) { return 2; }
};
void use() { scheme{wrong{}}; }
#elif defined case_inverse_temperature_of_nothing
struct wrong {
  void adjust_scores(auto const&) const {}
  void inverse_temperature(row_statistics const&) const {}
};
void use() { scheme{wrong{}}; }
#elif defined case_softmax
struct wrong {
  double inverse_temperature(row_statistics const&) { return 1; }
};
void use(std::span<float> row, std::vector<float>& memory) { softmax(row, wrong{}, memory); }
#endif

// posenc: the rule of softmax must have inverse_temperature: it must act on softmax (site 4), or
// nowhere
#ifdef case_softmax_of_scores
void use(std::span<float> row, std::vector<float>& memory) { softmax(row, alibi(1), memory); }
#endif

// posenc: sink must be: double sink(std::size_t head) const
#ifdef case_sink_of_text
struct wrong {
  double inverse_temperature(row_statistics const&) const { return 2; }
  char const* sink(std::size_t) const { return "0"; }
};
void use() { scheme{wrong{}}; }
#endif

// posenc: attention must not embed (site 1): embed before W_q and W_k, or let unprojected(encoding)
#ifdef case_attention_embeds
#include "posenc/attention/attention.hpp"
void use(heads_view<float> const& x, sinusoidal<halves> const& embedding) {
  attention(x, x, x, scheme{embedding, alibi(1)});
}
#endif

// posenc: dot_products must be of a format, as q8_0{} or numbers_of<bfloat16>{}
#ifdef case_dot_products_of_numbers
#include "posenc/decode/dot_products.hpp"
void use(bfloat16 const& number) { dot_products{number}; }
#endif

// posenc: elements must be float, double, half, bfloat16 or a type with a storage_format; 16-bit
// words are as<half> or as<bfloat16>
#ifdef case_heads_view_of_words
void use(std::uint16_t* words) { heads_view(words, {1, 2, 64}); }
#elif defined case_rotate_words
void use(std::uint16_t* words, cos_sin_view<float> const& rows) {
  rotate<halves>(heads_view(words, {1, 2, 64}), rows);
}
#elif defined case_heads_in_pages_of_words
void use(std::uint16_t* words, std::span<std::int64_t const> slots) {
  heads_view(words, {8, 16, 2, 64}, slots);
}
#endif

// posenc: the slots of a heads_view must be of std::int64_t
#ifdef case_heads_in_pages_by_slots_of_int
void use(float* pages, std::vector<int> const& slots) { heads_view(pages, {8, 16, 2, 64}, slots); }
#endif

// posenc: heads that a rotation writes must not be const
#ifdef case_rotate_const_heads
void use(heads_view<float const> const& q, cos_sin_view<float> const& rows) {
  rotate<halves>(q, rows);
}
#elif defined case_rotate_to_const_heads
void use(heads_view<float> const& k, heads_view<half const> const& to,
         cos_sin_view<float> const& rows) {
  rotate<halves>(k, to, rows);
}
#endif

// posenc: rows must be of double for heads of double, and of float for all others
#ifdef case_rotate_double_by_float_rows
void use(heads_view<double> const& q, cos_sin_view<float> const& rows) { rotate<halves>(q, rows); }
#elif defined case_rotate_set_by_double_rows
void use(heads_view<half> const& q, cos_sin_view<double> const& rows) {
  rotate(rows, rotated<halves>(q));
}
#endif

// posenc: this is no rows: make them by cos_sin_rows(frequencies, positions)
#ifdef case_rotate_by_positions
void use(heads_view<float> const& q, std::vector<std::int64_t> const& positions) {
  rotate<halves>(q, positions);
}
#elif defined case_rotate_set_by_frequencies
void use(heads_view<half> const& q, frequencies const& f) { rotate(f, rotated<halves>(q)); }
#endif

// posenc: heads that rotate must have rows: rotate(rows, ...)
#ifdef case_rotate_set_without_rows
void use(heads_view<float> const& q) { rotate(rotated<halves>(q)); }
#elif defined case_rotate_values_and_keys_without_rows
void use(heads_view<float> const& v) { rotate(unrotated(v, v), rotated<halves>(v)); }
#endif

// posenc: heads of double must be rotated to heads of double, others to others
#ifdef case_rotate_double_to_float
void use(heads_view<double> const& k, heads_view<float> const& to,
         cos_sin_view<float> const& rows) {
  rotate<halves>(k, to, rows);
}
#endif

// posenc: a rotation must be told its pair layout: rotate<halves>(...) or rotate<interleaved>(...)
#ifdef case_rotate_in_no_layout
void use(heads_view<float> const& q, cos_sin_view<float> const& rows) { rotate<float>(q, rows); }
#elif defined case_rotate_to_no_layout
void use(heads_view<float> const& k, cos_sin_view<float> const& rows) {
  rotate<halves, int>(k, k, rows);
}
#elif defined case_rotate_without_layout
void use(heads_view<float> const& q, cos_sin_view<float> const& rows) { rotate(q, rows); }
#elif defined case_rotated_in_no_layout
void use(heads_view<float> const& q) { rotated(q); }
#endif

// compiles
#ifdef case_right
#include "posenc/attention/gradients.hpp"
// Every function, in words of their own.
struct right {
  static constexpr bool is_bias = false;
  struct prepared {
    void encode_queries(auto const&, std::size_t const&) const {}
    static void encode_keys(auto, std::size_t) {}
    bool backward_queries(auto const&, std::size_t) const noexcept { return true; }
    void backward_keys(auto const&, std::size_t) const {}
  };
  template <std::floating_point>
  static prepared prepare(positions_view const&) {
    return {};
  }
  void adjust_scores(score_row<float>) const {}
  void adjust_scores(score_row<double> const&) const {}
  float inverse_temperature(row_statistics) const { return 1; }
  int sink(std::size_t) const { return 0; }
  std::size_t heads() const { return 1; }
  std::size_t kv_heads() const { return 1; }
  std::uint64_t hash() const noexcept { return 1; }
  bool changes_temperature() const { return true; }
  static void check(int) {}  // of its own
  template <class T>
  void backward_scores(score_row<T const> const&, std::span<T>, std::span<T>) const {}
};

struct right_embedding {
  template <class T>
  bool embed(heads_view<T>, positions_view) const noexcept {
    return true;
  }
};

void use(auto const& encoding) {
  heads_view<float> const x(nullptr, {1, 1, 1});
  attention_backward(x, x, x, encoding, attention(x, x, x, encoding), x);
  profile_distances(encoding, {});
}

void use_all(rope<halves> const& rope, std::span<float> row, std::vector<float>& memory) {
  use(right{});
  use(nope{});
  use(scheme{unprojected(right_embedding{})});
  scheme{remapped(prepares<encodes>{}, same, same), bias_table(alibi(1), 1, 10)};
  softmax(row, right{}, memory);
  softmax(row, nope{}, memory);
  use(scheme{right{}, scheme{nope{}, rope}, alibi(1), soft_cap(1), adaptive_temperature{}});
}
#elif defined case_right_names
// What it returns is known only once its body is compiled.
struct deduced final {
  auto adjust_scores(auto row) const {
    for (auto& score : row.scores) score += 1;
  }
};

// Classes that have the name of a function.
struct sink {
  void adjust_scores(auto const&) const {}
};
template <class>
struct heads {
  void embed(auto const&, positions_view) const {}
};
struct derived : sink, heads<int> {};

struct scheme_of_its_own : scheme<alibi> {
  scheme_of_its_own() : scheme(alibi(1)) {}
  double inverse_temperature(row_statistics const&) const { return 2; }
};
struct named : nope {
  named() : scheme() {}
};

void use(alibi const& bias, nope const& nothing) {
  scheme{deduced{}, sink{}, heads<int>{}, derived{}, scheme_of_its_own{}, named{}};
  scheme{scheme<alibi const&, nope const&>{bias, nothing}};
  scheme{scheme<nope const&>{nothing}};
  scheme{bias_table<alibi const&>(bias, 1, 10)};
}
#endif

// posenc: attention takes views q, k, v, an encoding, and options
#ifdef case_attention_of_swapped_arguments
#include "posenc/attention/attention.hpp"
void use(heads_view<float> const& x) { attention(alibi(8), x, x, x); }
#elif defined case_attention_of_vectors
#include "posenc/attention/attention.hpp"
void use(std::vector<float> const& x) { attention(x, x, x, nope()); }
#elif defined case_attention_without_an_encoding
#include "posenc/attention/attention.hpp"
void use(heads_view<float> const& x) { attention(x, x, x); }
#endif

// posenc: attend takes tasks or a worker, calls, and std::byte memory
#ifdef case_attend_in_memory_of_floats
#include "posenc/attention/call.hpp"
void use(heads_view<float> const& x, alibi const& encoding, std::vector<float>& memory) {
  attention_call const call(x, x, x, x, encoding);
  attend(worker(0, 1, [] {}), call, memory);
}
#elif defined case_attend_without_a_worker
#include "posenc/attention/call.hpp"
void use(heads_view<float> const& x, alibi const& encoding, std::vector<std::byte>& memory) {
  attention_call const call(x, x, x, x, encoding);
  attend(call, memory);
}
#endif

// posenc: rotate takes views and rows, or rows and operands
#ifdef case_rotate_of_swapped_arguments
void use(heads_view<float> const& x, cos_sin_rows<float> const& rows) { rotate<halves>(rows, x); }
#elif defined case_rotate_of_swapped_operands
void use(heads_view<float> const& x, cos_sin_rows<float> const& rows) {
  rotate(rotated<halves>(x), rows);
}
#endif

// posenc: what is viewed must have a name
#ifdef case_view_of_slots_without_a_name
void use(float* data, pages_shape shape) {
  heads_view view(data, shape, slots_of(std::vector{0}, {1}, 4));
}
#elif defined case_view_of_slots_without_a_name_at_strides
void use(float* data, pages_shape shape) {
  heads_view view(data, shape, {8, 8, 8}, std::vector<std::int64_t>{0});
}
#elif defined case_view_of_words_and_slots_without_a_name
void use(std::uint16_t* data, pages_shape shape) {
  heads_view<as<half>, in_pages> view(data, shape, std::vector<std::int64_t>{0});
}
#elif defined case_view_in_a_format_of_slots_without_a_name
#include "posenc/cache/q8_0.hpp"
void use(std::byte* data, pages_shape shape) {
  heads_view view(q8_0(), data, shape, slots_of(std::vector{0}, {1}, 4));
}
#elif defined case_view_in_a_format_of_slots_without_a_name_at_strides
#include "posenc/cache/q8_0.hpp"
void use(std::byte* data, pages_shape shape) {
  heads_view view(q8_0(), data, shape, {8, 8, 8}, std::vector<std::int64_t>{0});
}
#elif defined case_view_with_scales_of_slots_without_a_name
#include "posenc/cache/integer_formats.hpp"
void use(std::byte* data, pages_shape shape) {
  heads_view view(int8_per_head(), data, shape, {8, 8, 8}, data, {8, 8, 8},
                  std::array<std::int64_t, 1>{0});
}
#elif defined case_call_with_an_encoding_without_a_name
#include "posenc/attention/call.hpp"
void use(heads_view<float> const& x) { attention_call const call(x, x, x, x, alibi(8)); }
#elif defined case_call_with_an_encoding_without_a_name_and_options
#include "posenc/attention/call.hpp"
void use(heads_view<float> const& x) {
  attention_call const call(x, x, x, x, nope(), {.mask = mask::full});
}
#elif defined case_prepared_encoding_without_a_name
#include "posenc/attention/prepared_encoding.hpp"
void use() { prepared_encoding<float, alibi> step(alibi(8), {1}, {0, 1}); }
#elif defined case_slopes_without_a_name
#include "posenc/attention/given_mask.hpp"
auto use(given_mask const& cells) { return cells.with_slopes(alibi(8).slopes()); }
#elif defined case_weights_without_a_name
head_norm<float> use() { return {.weight = std::vector<float>(128, 2)}; }
#elif defined case_biases_without_a_name
auto use() { return attention_bias(std::vector<float>(12), 1, 3, 4); }
#elif defined case_rows_without_a_name
cos_sin_view<float> use(frequencies const& f) { return cos_sin_rows(f, std::vector{1, 2}); }
#elif defined case_factors_without_a_name
#include "posenc/adapter/ggml.hpp"
auto use(ggml_rope_parameters const& p) {
  return ggml_rope_call{
      .parameters = p, .positions = nullptr, .freq_factors = std::vector<float>(8)};
}
#endif

// compiles
#ifdef case_what_is_viewed_has_a_name
#include "posenc/attention/call.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/rows/cos_sin_table.hpp"
std::vector<std::int64_t> const vector{0, 1};
std::int64_t const array[] = {0, 1};
std::array<std::int64_t, 2> const std_array{0, 1};
std::vector<float> weights(128);
void use(float* data, std::byte* bytes, pages_shape shape, heads_view<float> const& x) {
  heads_view a(data, shape, vector), b(data, shape, array), c(data, shape, std_array);
  heads_view d(data, shape, std::span(vector)), e(data, shape, positions_view(array, 1));
  heads_view f(q8_0(), bytes, shape, vector), g(q8_0(), bytes, shape, std::span(array));
  head_norm<float> const of_vector{.weight = weights}, of_span{.weight = std::span(weights)},
      of_address{.weight = {weights.data(), 64}}, of_nothing{{}, 1e-6f};
  alibi const encoding(8);
  attention_call const call(x, x, x, x, encoding);
  prepared_encoding<float, alibi> const step(encoding, {1}, {0, 1});
  rotate(cos_sin_rows(geometric(64, 1e4), std::vector{0}),
         rotated<halves>(x).norm({weights, 1e-6f}));
  rotate<halves>(x, cos_sin_rows(geometric(64, 1e4), std::vector{0, 1}));
  cos_sin_table(geometric(64, 1e4)).write(vector, data);
}
#elif defined case_executors_without_a_name
#include "posenc/rotation/rotate_in_tasks.hpp"
void use(heads_view<float> const& x, cos_sin_rows<float> const& rows) {
  tasks const split(4, [](std::size_t, task const&) {});
  rotate<halves>(split, x, rows);
}
#endif
