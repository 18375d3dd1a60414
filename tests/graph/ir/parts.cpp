// Operators with several results, as a user writes them.
#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

#include "../../support/both_modes.hpp"
#include "../../support/gradient_check.hpp"
#include "../../support/sum_difference.hpp"

using namespace tenon;

namespace mine {

/// Puts gradients [n] at their places in [n, C]. Operands: places, gradients.
struct LargestGrad : Operator<LargestGrad, "LargestGrad"> {
  struct Config {
    int columns = 1;
  };
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {{in[0][0], c.columns}, 2, in[1].dtype};
  }
  static constexpr None derivative{};
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    constexpr long columns = Call::result[1];
    for (long s = begin; s < end; ++s)
      for (long c = 0; c < columns; ++c)
        a.result<float>()[s * columns + c] = a.operand<std::int32_t>(0)[s] == c ? a.operand<float>(1)[s] : 0;
  }
};
inline int places_written = 0;
/// The largest element of each row of [n, C]. It keeps the places for its derivative.
struct Largest : Operator<Largest, "Largest"> {
  static constexpr int returns = 1;
  static constexpr ResultTypes shape(const OperandTypes& in, const NoConfig&, Sentence&) {
    return {{{in[0][0]}, 1, in[0].dtype}, {{in[0][0]}, 1, Dtype::int32}};
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<LargestGrad>({d.type(0)[1]}, d.result(1), d.gradient()));
  }
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr long columns = Call::operand(0)[1];
    for (long s = 0; s < Call::result.size(0, a.n); ++s) {
      const float* const x = a.operand<float>(0) + s * columns;
      const long best = std::max_element(x, x + columns) - x;
      a.result<float>()[s] = x[best];
      if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[s] = std::int32_t(best), ++places_written;
    }
  }
};
constexpr auto largest(const ops::Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Largest>(at, x);
}

}  // namespace mine

#if defined(TENON_TARGET)
namespace tenon::inline TENON_ABI {
template <>
struct Kernel<OtherTarget, mine::Largest> : mine::Largest {};
template <>
struct Kernel<OtherTarget, mine::LargestGrad> : mine::LargestGrad {};
}  // namespace tenon
#endif

namespace {
using Batch = Tensor<float, Shape<dyn, 3>>;
const Batch x = Batch::from({1, 2, 3, 4, 5, 6}), y = Batch::from({6, 4, 5, 1, 3, 2});

/// Which results a function reads.
enum class Uses : int { sum, difference, both, neither };
template <Uses uses>
constexpr auto used(const auto& a, const auto& b) {
  const auto [sum, difference] = mine::sum_difference(a, b);
  if constexpr (uses == Uses::sum) return exp(sum);
  else if constexpr (uses == Uses::difference) return exp(difference);
  else if constexpr (uses == Uses::both) return sum * difference;
  else return a * b;
}
template <Uses uses>
struct Net : nn::Cell<Net<uses>> {
  nn::Dense<3, 3> first;
  nn::Dense<3, 3> second;
  constexpr auto construct(auto input) const { return used<uses>(first(input), relu(second(input))); }
};

/// The weights after some steps.
template <class Cell>
std::vector<float> trained(Mode mode) {
  const ContextScope scope({.mode = mode, .seed = 3});
  Cell net;
  const std::vector<float> in{1, 2, 3, 4, 5, 6, 1, 0, 2, 3, 1, 1}, out{1, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 0};
  const auto data =
      dataset::from_arrays(dataset::column<Shape<3>>(in), dataset::column<Shape<3>>(out)) | dataset::batch(4);
  Model model{net, nn::MSELoss{}, nn::SGD{.learning_rate = 0.01f}};
  model.train(3, data);
  std::vector<float> weights;
  for (const auto& layer : {std::cref(net.first), std::cref(net.second)})
    weights.insert(weights.end(), layer.get().weight.values().begin(), layer.get().weight.values().end());
  return weights;
}
template <class Cell>
void check_training() {
  const std::vector<float> graph = trained<Cell>(Mode::graph);
  CHECK(graph == trained<Cell>(Mode::pynative));
  Cell untrained;
  const ContextScope scope({.seed = 3});
  untrained.init_parameters();
  CHECK(!std::equal(graph.begin(), graph.begin() + 9, untrained.first.weight.values().begin()));
}

/// Whether a graph of this function has a part, and the bytes per sample that its values take.
template <class F>
struct Forward {
  static constexpr const Entry* entries = nullptr;
  static constexpr Builder trace() {
    Builder b;
    const Traced<float, Shape<dyn, 3>> a(&b, b.leaf(&info<ops::Input>, Batch::dims, 0)),
        c(&b, b.leaf(&info<ops::Input>, Batch::dims, 1));
    b.outputs.push_back(F{}(a, c).id);
    return b;
  }
};
}  // namespace

TEST_CASE("parts: a call returns a tuple of its results") {
  const auto [sum, difference] = mine::sum_difference(x, y);
  CHECK(bit_equal(sum, Batch::from({7, 6, 8, 5, 8, 8})));
  CHECK(bit_equal(difference, Batch::from({-5, -2, -2, 3, 2, 4})));
}

TEST_CASE("parts: both modes, and gradients through each part, both, and neither") {
  const auto sum = [](const auto& a, const auto& b) { return used<Uses::sum>(a, b); };
  const auto difference = [](const auto& a, const auto& b) { return used<Uses::difference>(a, b); };
  const auto both = [](const auto& a, const auto& b) { return used<Uses::both>(a, b); };
  const auto neither = [](const auto& a, const auto& b) { return used<Uses::neither>(a, b); };
  support::both_modes(sum, x, y);
  support::both_modes(difference, x, y);
  support::both_modes(neither, x, y);
  CHECK(bit_equal(support::both_modes(both, x, y).result, Batch::from({-35, -12, -16, 15, 16, 32})));
  using Doubles = Tensor<double, Shape<dyn, 2>>;
  const auto a = Doubles::from({0.5, -1, 2, 0.25}), b = Doubles::from({1.5, 0.5, -0.5, 1});
  support::check_gradients(sum, a, b);
  support::check_gradients(difference, a, b);
  support::check_gradients(both, a, b);
}

TEST_CASE("parts: a result that no node reads takes no memory, and the kernel is compiled without it") {
  using Sum = Compiled<Forward<decltype([](const auto& a, const auto& b) { return used<Uses::sum>(a, b); })>>;
  using Both = Compiled<Forward<decltype([](const auto& a, const auto& b) { return used<Uses::both>(a, b); })>>;
  CHECK(!support::has<ops::ResultPart>(Sum::graph));
  CHECK(support::has<ops::ResultPart>(Both::graph));
  CHECK(Sum::plan.bytes(1) < Both::plan.bytes(1));
}

TEST_CASE("parts: in a Model, both modes train the same weights") {
  check_training<Net<Uses::sum>>();
  check_training<Net<Uses::difference>>();
  check_training<Net<Uses::both>>();
  check_training<Net<Uses::neither>>();
}

TEST_CASE("parts: what is kept for the derivative is computed only where a gradient is asked for") {
  mine::places_written = 0;
  CHECK(bit_equal(mine::largest(x), Tensor<float, Shape<dyn>>::from({3, 6})));
  CHECK(mine::places_written == 0);
  {
    const eager::Tape tape;
    CHECK(bit_equal(mine::largest(x), Tensor<float, Shape<dyn>>::from({3, 6})));
    CHECK(mine::places_written == 0);  // nothing is watched
  }
  const auto outcome = support::both_modes([](const auto& a) { return mine::largest(a * a); }, x);
  CHECK(mine::places_written > 0);
  CHECK(bit_equal(outcome.result, Tensor<float, Shape<dyn>>::from({9, 36})));
  CHECK(std::get<0>(outcome.gradient).data()[0] == 0);
  CHECK(std::get<0>(outcome.gradient).data()[2] != 0);
}
