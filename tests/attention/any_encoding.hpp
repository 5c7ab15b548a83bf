#pragma once

/// Any encoding as one type, so that attention is compiled once for all of them.

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/softmax/row_exponentials.hpp"
#include "site_2.hpp"

namespace encodings {

using namespace posenc;

/// Acts where the encoding does that it was made of, and elsewhere changes nothing. Of an encoding
/// whose number of heads must be attention's, attention does not ask it.
class any_encoding {
 public:
  template <class E>
  requires(!std::same_as<E, any_encoding> && positional_encoding<E>) any_encoding(E encoding)
      : of_(std::make_shared<some<E>>(scheme<E>(std::move(encoding)))) {}

  template <class>
  auto prepare(positions_view at) const {
    return site_2::remembered(*this, at);
  }
  template <class T>
  void queries_at(heads_view<T> const& x, positions_view at) const {
    in<T>().queries_at(x, at);
  }
  template <class T>
  void keys_at(heads_view<T> const& x, positions_view at) const {
    in<T>().keys_at(x, at);
  }
  template <class T>
  void d_queries_at(heads_view<T> const& d, positions_view at) const {
    if constexpr (std::same_as<T, double>) of_->d_queries_at(d, at);
  }
  template <class T>
  void d_keys_at(heads_view<T> const& d, positions_view at) const {
    if constexpr (std::same_as<T, double>) of_->d_keys_at(d, at);
  }
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    in<T>().adjust_scores(row);
  }
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const {
    if constexpr (std::same_as<T, double>) of_->backward_scores(before, d_scores, d_query);
  }
  double inverse_temperature(row_statistics const& row) const {
    return of_->inverse_temperature(row);
  }
  double sink(std::size_t head) const { return of_->sink(head); }

 private:
  template <class T>
  struct sites_in {
    virtual ~sites_in() = default;
    virtual void queries_at(heads_view<T> x, positions_view at) const = 0;
    virtual void keys_at(heads_view<T> x, positions_view at) const = 0;
    virtual void adjust_scores(score_row<T> const& row) const = 0;
  };
  struct sites : sites_in<float>, sites_in<double> {
    virtual void d_queries_at(heads_view<double> d, positions_view at) const = 0;
    virtual void d_keys_at(heads_view<double> d, positions_view at) const = 0;
    virtual void backward_scores(score_row<double const> const& row, std::span<double> d_scores,
                                 std::span<double> d_query) const = 0;
    virtual double inverse_temperature(row_statistics const& row) const = 0;
    virtual double sink(std::size_t head) const = 0;
  };
  template <class E, class T>
  static void encode_queries_at(E const& e, heads_view<T> x, positions_view at) {
    if constexpr (acts_on_queries_and_keys<E>) e.template prepare<T>(at).encode_queries(x);
  }
  template <class E, class T>
  static void encode_keys_at(E const& e, heads_view<T> x, positions_view at) {
    if constexpr (acts_on_queries_and_keys<E>) e.template prepare<T>(at).encode_keys(x);
  }
  template <class E, class T>
  static void adjust(E const& e, score_row<T> const& row) {
    if constexpr (acts_on_scores<E>) posenc::adjust_scores(e, row);
  }
  // A scheme of it, which lets gradients through biases too.
  template <class E>
  struct some final : sites {
    explicit some(scheme<E> encoding) : e(std::move(encoding)) {}
    void queries_at(heads_view<float> x, positions_view at) const override {
      encode_queries_at(e, x, at);
    }
    void queries_at(heads_view<double> x, positions_view at) const override {
      encode_queries_at(e, x, at);
    }
    void keys_at(heads_view<float> x, positions_view at) const override {
      encode_keys_at(e, x, at);
    }
    void keys_at(heads_view<double> x, positions_view at) const override {
      encode_keys_at(e, x, at);
    }
    void adjust_scores(score_row<float> const& row) const override { adjust(e, row); }
    void adjust_scores(score_row<double> const& row) const override { adjust(e, row); }
    void d_queries_at(heads_view<double> d, positions_view at) const override {
      if constexpr (pulls_back_queries_and_keys<E>)
        e.template prepare<double>(at).backward_queries(d);
    }
    void d_keys_at(heads_view<double> d, positions_view at) const override {
      if constexpr (pulls_back_queries_and_keys<E>) e.template prepare<double>(at).backward_keys(d);
    }
    void backward_scores(score_row<double const> const& row, std::span<double> d_scores,
                         std::span<double> d_query) const override {
      if constexpr (acts_on_scores<E> && detail::lets_through<E>::scores)
        e.backward_scores(row, d_scores, d_query);
    }
    double inverse_temperature(row_statistics const& row) const override {
      if constexpr (acts_on_softmax<E>) return e.inverse_temperature(row);
      return 1;
    }
    double sink(std::size_t head) const override {
      if constexpr (adds_sink<E>) return e.sink(head);
      return no_sink;
    }
    scheme<E> e;
  };
  template <class T>
  sites_in<T> const& in() const {
    return *of_;
  }
  std::shared_ptr<sites const> of_;
};

/// One after the other: a scheme of two, again and again, so that each is compiled once.
any_encoding together(any_encoding first, auto... then) {
  if constexpr (sizeof...(then) == 0) {
    return first;
  } else {
    return scheme(first, together(any_encoding(then)...));
  }
}

}  // namespace encodings
