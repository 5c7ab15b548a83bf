// The network forwards and backwards. Attention, both ways, is posenc's.
#pragma once

#include <algorithm>
#include <cmath>

#include "network.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"

namespace retrieval {

/// Queries and keys that give the very scores of the network, up to what is the same for every item
/// and so changes no weight.
///
/// Behind its hidden layer everything about an item is linear: with f_i = gelu(hidden layer of x_i)
/// and h_i = f_i A + c,
///
///     <h_q W_Q, h_i W_K>  = <h_q W_Q W_K^T A^T, f_i> + ...
///     sum_i a_i h_i W_V   = ((sum_i a_i f_i) A + c) W_V
///
/// so that f_i is both key and value, and nothing but it is computed for each of many items.
template <class T>
struct query_pass {
  matrix<T> hidden, active, embedded, query, folded,
      question;  ///< [sets][width]; the last is what items' features are compared with

  query_pass(network<T> const& n, matrix<T> const& queries)
      : hidden(n.query_hidden(queries)),
        active(gelu(hidden)),
        embedded(n.query_out(active)),
        query(embedded * n.w_q),
        folded(query * n.w_k.transpose()),
        question(folded * n.item_out.w.transpose()) {}
};

/// From the features that attention has brought together, [sets][width], to the logits of classes.
template <class T>
struct answer_pass {
  matrix<T> attended, item, retrieved, hidden, active, logits;

  answer_pass(network<T> const& n, matrix<T> features)
      : attended(std::move(features)),
        item(n.item_out(attended)),
        retrieved(item * n.w_v),
        hidden(n.answer_hidden(retrieved)),
        active(gelu(hidden)),
        logits(n.answer_out(active)) {}
};

/// Rows of one token, or of item after item, as heads: a set is a head, so that no set sees
/// another.
template <class T>
posenc::heads_view<T const> as_heads(matrix<T> const& rows, std::size_t sets) {
  return {
      rows.data(),
      {static_cast<std::size_t>(rows.rows()) / sets, sets, static_cast<std::size_t>(rows.cols())}};
}

template <class T>
matrix<T> as_matrix(std::vector<T> const& numbers, Eigen::Index columns) {
  return Eigen::Map<matrix<T> const>(numbers.data(),
                                     static_cast<Eigen::Index>(numbers.size()) / columns, columns);
}

/// A query sees all of its set.
inline posenc::attention_options every_item() { return {.mask = posenc::mask::full}; }

/// Mean cross-entropy of the logits, which become its gradient.
template <class T>
double cross_entropy(matrix<T>& logits, std::vector<Eigen::Index> const& answers) {
  double loss = 0;
  auto const share = 1 / static_cast<double>(answers.size());
  for (Eigen::Index s = 0; s < logits.rows(); ++s) {
    auto row = logits.row(s).array();
    auto const largest = row.maxCoeff();
    auto const log_sum = largest + std::log((row - largest).exp().sum());
    loss += share * static_cast<double>(log_sum - row(answers[static_cast<std::size_t>(s)]));
    row = (row - log_sum).exp() * static_cast<T>(share);
    row(answers[static_cast<std::size_t>(s)]) -= static_cast<T>(share);
  }
  return loss;
}

/// The loss on some sets; adds its gradient to d.
template <class T>
double add_gradients(network<T> const& n, item_sets<T> const& batch, network<T>& d) {
  auto const width = n.w_q.rows();
  matrix<T> const item_hidden = n.item_hidden(batch.items), features = gelu(item_hidden);
  query_pass<T> const asked(n, batch.queries);
  auto const q = as_heads(asked.question, batch.sets), k = as_heads(features, batch.sets);
  auto const attended = posenc::attention(q, k, k, posenc::nope{}, every_item());
  answer_pass<T> const answered(n, as_matrix(attended.outputs, width));

  matrix<T> d_logits = answered.logits;
  auto const loss = cross_entropy(d_logits, batch.answers);

  linear<T>::add_gradient(d.answer_out, answered.active, d_logits);
  matrix<T> const d_hidden =
      gelu_backward<T>(answered.hidden, d_logits * n.answer_out.w.transpose());
  linear<T>::add_gradient(d.answer_hidden, answered.retrieved, d_hidden);
  matrix<T> const d_retrieved = d_hidden * n.answer_hidden.w.transpose();
  d.w_v.noalias() += answered.item.transpose() * d_retrieved;
  matrix<T> const d_item = d_retrieved * n.w_v.transpose();
  linear<T>::add_gradient(d.item_out, answered.attended, d_item);
  matrix<T> const d_attended = d_item * n.item_out.w.transpose();

  auto const d_attention = posenc::attention_backward(
      q, k, k, posenc::nope{}, attended, as_heads(d_attended, batch.sets), every_item());
  matrix<T> const d_question = as_matrix(d_attention.q, width);
  d.item_out.w.noalias() += d_question.transpose() * asked.folded;
  matrix<T> const d_folded = d_question * n.item_out.w;
  d.w_k.noalias() += d_folded.transpose() * asked.query;
  matrix<T> const d_query = d_folded * n.w_k;
  d.w_q.noalias() += asked.embedded.transpose() * d_query;
  matrix<T> const d_embedded = d_query * n.w_q.transpose();
  linear<T>::add_gradient(d.query_out, asked.active, d_embedded);
  linear<T>::add_gradient(d.query_hidden, batch.queries,
                          gelu_backward<T>(asked.hidden, d_embedded * n.query_out.w.transpose()));

  matrix<T> const d_features = as_matrix(d_attention.k, width) + as_matrix(d_attention.v, width);
  linear<T>::add_gradient(d.item_hidden, batch.items, gelu_backward(item_hidden, d_features));
  return loss;
}

}  // namespace retrieval
