// Derivatives of derivatives, by tracing the backward pass twice, against central differences of the tape's gradients.
#pragma once
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>

#include "both_modes.hpp"
#include "gradient_check.hpp"

namespace support {

namespace detail {

/// The graph of the gradients of sum(g · direction), where g is the gradient of sum(f(x...) · weight) for operand 0.
template <class F, class... Keys>
struct SecondSource {
  static constexpr const tenon::Entry* entries = nullptr;
  using Result = typename FunctionResult<F, std::tuple<Keys...>>::type;

  static constexpr tenon::Builder trace() {
    tenon::Builder b;
    trace_operands(b, std::index_sequence_for<Keys...>{});
    return b;
  }
  template <std::size_t... I>
  static constexpr void trace_operands(tenon::Builder& b, std::index_sequence<I...>) {
    constexpr tenon::TensorType first[]{Keys::value...};
    // Leaves get the numbers 0, 1, ... only in a braced list, whose order is fixed.
    const std::tuple<tenon::Traced<typename Keys::type, typename Keys::shape>...> x{
        {&b, b.leaf(&tenon::info<tenon::ops::Input>, Keys::value, I)}...};
    const Result y = F{}(std::get<I>(x)...);
    const int weight = b.leaf(&tenon::info<tenon::ops::Input>, Result::dims, sizeof...(Keys));
    const int direction = b.leaf(&tenon::info<tenon::ops::Input>, first[0], sizeof...(Keys) + 1);
    const std::vector<int> wanted(sizeof...(Keys), 1);
    const std::vector<int> gradient = tenon::backward(b, y.id, weight, wanted);
    const int product = b.call<tenon::ops::Mul>({}, gradient[0], direction);
    const int total = b.call<tenon::ops::ReduceSum>({(1 << first[0].rank) - 1, 0, 0}, product);
    const std::vector<int> second = tenon::backward(b, total, b.constant(first[0].dtype, 1), wanted);
    (b.outputs.push_back(second[I] >= 0 ? second[I]
                                        : b.call<tenon::ops::BroadcastTo>(tenon::ops::SumTo::to(Keys::value),
                                                                          b.constant(Keys::value.dtype, 0))),
     ...);
  }
};

template <class F, class... X, std::size_t... I>
void check_second_of(double tolerance, const F& f, std::index_sequence<I...>, const X&... given) {
  using Graph = tenon::Compiled<SecondSource<F, typename tenon::detail::KeyFor<X>::type...>>;
  static_assert(Graph::ok);
  auto x = std::make_tuple(given.copy()...);
  using First = std::tuple_element_t<0, std::tuple<X...>>;
  const auto y = f(std::get<I>(x)...);
  using Result = std::remove_cvref_t<decltype(y)>;
  const Result weight = random_tensor<double, typename Result::shape_type>(4711, 0.5, 1.5, y.n());
  const First direction = random_tensor<double, typename First::shape_type>(4712, 0.5, 1.5, batch_size(given...));
  const auto slope = [&](double& result) {  // of sum(f · weight) along the direction
    tenon::eager::Tape tape;
    tape.watch(std::get<0>(x));
    tape.backward(f(std::get<I>(x)...), weight);
    result = tenon::detail::weighted_sum(tape.gradient(std::get<0>(x)), direction);
  };
  tenon::Executor executor(Graph::program);
  const void* inputs[]{given.data()..., weight.data(), direction.data()};
  executor.run(inputs, batch_size(given...));
  const auto check = [&](int k, auto& operand) {
    const std::span found(static_cast<const double*>(executor.output(k)), std::size_t(operand.count()));
    CHECK_NOTHROW(tenon::detail::check_operand<double>(k, slope, operand.values(), found, {.tolerance = tolerance}));
  };
  (check(int(I), std::get<I>(x)), ...);
}

}  // namespace detail

/// Checks the second derivatives of f that involve its first operand; all operands are Tensor<double, S>, at most four.
template <class F, class... X>
void check_second_derivatives(const F& f, const X&... x) {
  detail::check_second_of(1e-6, f, std::index_sequence_for<X...>{}, x...);
}

}  // namespace support
