// Positional embedding: a vector for each position, which is added to the input at this position.
#pragma once

#include <tenon/core/math/libm.hpp>
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/gather.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/slice.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Sines and cosines of the row's number, for a table [positions, features]: column 2i is sin(p / 10000^(2i /
/// features)), column 2i + 1 the cosine of the same. Source: Vaswani and others, arXiv 1706.03762.
struct Sinusoids {
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t) const {
    for (long p = 0; p < t[0]; ++p)
      for (long f = 0; f < t[1]; ++f) {
        const double angle = double(p) / tenon::detail::libm::pow(10000.0, double(f - f % 2) / t[1]);
        data[p * t[1] + f] = T(f % 2 ? tenon::detail::libm::cos(angle) : tenon::detail::libm::sin(angle));
      }
  }
};

struct PositionalEmbeddingConfig {
  bool sinusoidal = false;  // Sinusoids that stay as they are, instead of trained vectors
};

/// A vector per position, added:  y[.., t, :] = x[.., t, :] + embedding_table[t, :]
///
///     nn::Embedding<65, 256> token;
///     nn::PositionalEmbedding<128, 256> position;
///     constexpr auto construct(auto tokens) const { return position(token(tokens)); }
///
/// x           [..., T, Features] with T <= Length: `position(x)`
/// at          `position(x, at)`, [n] of int32 or int64: x [n, T, Features] are new tokens, and `at` is the position of
///             the first of each sequence, as for nn::KeyValueCache. Throws ValueError for a position beyond Length
/// result      shape of x
/// parameters  embedding_table [Length, Features], Normal(0.02); with sinusoidal = true Sinusoids, which no optimizer
///             changes
/// source      Radford and others 2018 (trained); Vaswani and others, arXiv 1706.03762 (sinusoidal)
template <int Length, int Features, PositionalEmbeddingConfig config = PositionalEmbeddingConfig{},
          auto table_init = Normal{0.02f}>
struct PositionalEmbedding : Cell<PositionalEmbedding<Length, Features, config, table_init>> {
  static_assert(Length > 0 && Features > 0, "PositionalEmbedding<Length, Features> needs positive sizes");
  std::conditional_t<config.sinusoidal, Parameter<float, Shape<Length, Features>, Sinusoids{}, false>,
                     Parameter<float, Shape<Length, Features>, table_init>>
      embedding_table;

  template <ops::Operand X>
  constexpr auto construct(const X& x) const {
    if constexpr (is_broken<X>) return x;
    else if constexpr (X::dims.rank >= 2 && X::dims.extent[X::dims.rank - 2] > 0 &&
                       X::dims.extent[X::dims.rank - 2] < Length)
      return ops::add(x, ops::slice<0, Part{0, X::dims.extent[X::dims.rank - 2]}>(value_in(x, embedding_table)));
    else return ops::add(x, embedding_table);  // also a shape that does not fit, which add refuses
  }
  template <ops::Operand X, ops::Operand At>
  constexpr auto construct(const X& x, const At& at) const {
    if constexpr (is_broken<X>) return x;
    else if constexpr (is_broken<At>) return at;
    else if constexpr (X::dims.rank != 3 || X::dims.extent[1] < 1 || At::dims.rank != 1)
      return ops::add(x, ops::gather(value_in(x, embedding_table), at));  // refuses the shape
    else {
      const auto first = ops::expand_dims<1>(at);
      const auto places = ops::add(first, ops::arange<X::dims.extent[1], typename At::type>(at));
      return ops::add(x, ops::gather(value_in(x, embedding_table), places));
    }
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI {

namespace detail {
inline constexpr PytorchName positional_embedding_names[]{{"embedding_table", "weight"}};
}
template <int Length, int Features, nn::PositionalEmbeddingConfig config, auto table_init>
inline constexpr std::span<const PytorchName>
    pytorch_names<nn::PositionalEmbedding<Length, Features, config, table_init>>{detail::positional_embedding_names};

}  // namespace tenon
