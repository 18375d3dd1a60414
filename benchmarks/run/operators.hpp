// Single operators as works: called on tensors at once, or as a compiled function.
#pragma once
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <tenon/tenon.hpp>

#include "serve.hpp"

namespace benchmark {

/// At most a thousand and some elements, from all over the tensor.
inline void add_some(std::vector<double>& some, const auto& tensor) {
  for (long i = 0; i < tensor.count(); i += tensor.count() / 1024 + 1)
    some.push_back(static_cast<double>(static_cast<float>(tensor.data()[i])));
}

/// A tensor X of the numbers that all sides begin with, from place `first` of the sequence; n is its batch size.
template <class X>
X operand(long n, std::size_t first) {
  using T = std::remove_cvref_t<decltype(*std::declval<X&>().data())>;
  const auto values = numbers(static_cast<std::size_t>(X::dims.count(n)), first);
  X x = X::empty(n);
  for (std::size_t i = 0; i < values.size(); ++i) x.data()[i] = static_cast<T>(values[i]);
  return x;
}
/// The same as a network hands it on: an image in blocks of samples if the batch fills them, as the rivals get theirs
/// in the layout that they like best.
template <class X>
X image(long n, std::size_t first) {
  using namespace tenon;
  const X rows = operand<X>(n, first);
  if (!in_nchw16n(n)) return rows;
  eager::OperandLayout x{rows.storage().data(), &rows.storage(), X::dims.count(1)};
  Storage blocks;
  eager::bring_to(true, x, n, blocks);
  return X(std::move(blocks), n);
}
inline constexpr std::size_t second_operand = 12345, third_operand = 54321;  // where their numbers begin

/// What is checked and timed is f on the operands, without a tape.
template <class F, class... X>
Work operation(F f, X... x) {
  const auto operands = std::make_shared<std::tuple<X...>>(std::move(x)...);
  const auto call = [=] {
    return std::apply([&](const auto&... one) { return (hide(one.storage().data()), ...), f(one...); }, *operands);
  };
  return {[=] {
            std::vector<double> some;
            add_some(some, call());
            return some;
          },
          [=](long calls) {
            const tenon::eager::NoGrad no_grad;
            const double start = tenon::detail::now();
            for (long i = 0; i < calls; ++i) {
              const auto result = call();
              hide(result.storage().data());  // not data(), which would bring an image from blocks of samples into rows
            }
            return tenon::detail::now() - start;
          }};
}

/// The same in a variant: "graph" is a compiled function.
template <class F, class... X>
Work operation_in(const std::string& variant, F f, X... x) {
  return variant == "graph" ? operation(tenon::jit(f), std::move(x)...) : operation(f, std::move(x)...);
}

}  // namespace benchmark
