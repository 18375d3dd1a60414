// Reverse mode on small traces: which gradients exist, in which order they are added, and what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/graph/ir/derivative.hpp>
#include <tenon/ops/argmax.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/reshape.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;

namespace {
/// Contributes to its operand twice: the tape adds both to one number before it meets others.
struct Twice : ops::Elementwise<Twice, "TestTwice"> {
  template <class V>
  static constexpr V eval(V x) {
    return x + x;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<ops::Mul>(d.gradient(), d.constant(0.1)));
    d.flows_to(0, d.call<ops::Mul>(d.gradient(), d.constant(1e-9)));
  }
};
struct Opaque : ops::Elementwise<Opaque, "TestOpaque"> {
  static constexpr None derivative{};
  template <class V>
  static constexpr V eval(V x) {
    return x;
  }
};
struct Many : Operator<Many, "TestMany"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  static constexpr None derivative{};
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments&, long, long) {}
};
constexpr TensorType row{{4}, 1, Dtype::float32}, rows{{3, 4}, 2, Dtype::float32};
}  // namespace

TEST_CASE("gradients exist for what is wanted and what lies between") {
  Builder b;
  const int x = b.leaf(&info<ops::Input>, row, 0), y = b.leaf(&info<ops::Input>, row, 1);
  const int product = b.call<ops::Mul>(NoConfig{}, x, y), other = b.call<ops::Relu>(NoConfig{}, y),
            sum = b.call<ops::Add>(NoConfig{}, product, other);
  const int seed = b.leaf(&info<ops::Input>, row, 2);
  const auto gradient = backward(b, sum, seed, {1, 0});
  CHECK(b.error.empty());
  CHECK(gradient[std::size_t(sum)] == seed);
  CHECK(gradient[std::size_t(product)] == seed);
  CHECK(gradient[std::size_t(x)] > sum);
  const Node& g = b.nodes[std::size_t(gradient[std::size_t(x)])];
  CHECK(is<ops::Mul>(g));
  CHECK(g.operand[0] == seed);
  CHECK(g.operand[1] == y);
  // y is not wanted
  for (std::size_t id = std::size_t(seed) + 1; id < b.nodes.size(); ++id)
    CHECK(b.nodes[id].op->id != ops::ReluGrad::id);
}

TEST_CASE("a derivative that calls an operator with too many operands is told so") {
  Builder b;
  std::vector<int> x;
  for (int k = 0; k < 7; ++k) x.push_back(b.leaf(&info<ops::Input>, row, std::uint64_t(k)));
  b.call_list<Many>(NoConfig{}, x.data(), 6);
  CHECK(b.error.empty());
  CHECK(b.call_list<Many>(NoConfig{}, x.data(), 7) == x[0]);
  CHECK(b.error.view() == "a derivative calls TestMany with 7 operands: at most 6, and 8 together with its results");
}

TEST_CASE("post-order follows operands, not the order of the trace") {
  Builder b;
  const int x = b.leaf(&info<ops::Input>, row, 0);
  const int second = b.call<ops::Relu>(NoConfig{}, x), first = b.call<ops::Relu>(NoConfig{}, x),
            unused = b.call<ops::Relu>(NoConfig{}, x);
  const int root = b.call<ops::Add>(NoConfig{}, first, second);
  CHECK(post_order(b, {root}, b.nodes.size()) == std::vector<int>{x, first, second, root});
  CHECK(unused == 3);
}

TEST_CASE("a broadcast operand gets the sum of its gradient") {
  Builder b;
  const int x = b.leaf(&info<ops::Input>, rows, 0), bias = b.leaf(&info<ops::Input>, row, 1),
            sum = b.call<ops::Add>(NoConfig{}, x, bias);
  const int seed = b.leaf(&info<ops::Input>, rows, 2);
  const auto gradient = backward(b, sum, seed, {1, 1});
  CHECK(gradient[std::size_t(x)] == seed);
  const Node& g = b.nodes[std::size_t(gradient[std::size_t(bias)])];
  CHECK(is<ops::SumTo>(g));
  CHECK(g.type == row);
}

TEST_CASE("a gradient through what has none is an error that names it, unless it is not wanted or an integer") {
  for (bool wanted : {true, false}) {
    Builder b;
    const int x = b.leaf(&info<ops::Input>, row, 0), y = b.call<Opaque>(NoConfig{}, x),
              seed = b.leaf(&info<ops::Input>, row, 1);
    backward(b, y, seed, {char(wanted)});
    CHECK(b.error.empty() == !wanted);
    if (wanted) CHECK(b.error.view().starts_with("TestOpaque has no derivative"));
  }
  support::both_modes([](auto x) { return reduce_sum<1>(x) + cast<float>(argmax<1>(x * x)); },
                      support::tensor_of<float, Shape<dyn, 2>>({3, -2, 1, 4}));
}

TEST_CASE("contributions of one call are added before they meet others, in both modes") {
  const auto x = support::random_tensor<float, Shape<dyn, 50>>(3);
  support::both_modes([](auto v) { return apply<Twice>({}, v) * 3.0f + v * v; }, x);
  support::both_modes(
      [](auto v) {
        auto y = v * v;
        return y * apply<Twice>({}, y) + v * y * v;
      },
      x);
}
