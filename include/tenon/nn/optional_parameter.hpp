// An optional parameter of a cell, such as a bias.
#pragma once
#include <tenon/graph/ir/parameter.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::nn {

/// In place of a parameter that the configuration omits.
struct Absent {};

template <bool present, Element T, class S, auto Init>
using OptionalParameter = std::conditional_t<present, Parameter<T, S, Init>, Absent>;

/// x plus one value per feature, along the last axis; x itself if the bias is absent.
template <class X, class B>
constexpr auto add_bias(const X& x, const B& bias, std::source_location at = std::source_location::current()) {
  if constexpr (std::is_same_v<B, Absent> || is_broken<X>) return x;
  else return ops::add(x, bias, at);
}
/// An image plus one value per channel, along axis 1; the image itself if the bias is absent.
template <class X, class B>
constexpr auto add_channel_bias(const X& x, const B& bias, std::source_location at = std::source_location::current()) {
  if constexpr (std::is_same_v<B, Absent> || is_broken<X>) return x;
  else return ops::add(x, ParameterView<B, Shape<B::dims.extent[0], 1, 1>>{bias}, at);
}

}  // namespace tenon::nn
