// A tensor repeated for each sample of a batch: the batch size comes from a second operand, in both modes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/more.hpp>
#include <tenon/tenon.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {
struct WithToken : nn::Cell<WithToken> {
  Parameter<float, Shape<1, 1, 3>, nn::One{}> token;
  constexpr auto construct(auto x) const { return concat<1>(broadcast_to<Shape<dyn, 1, 3>>(token, x), x); }
};
/// An operator that would make up a batch size.
struct MadeUp : Operator<MadeUp, "MadeUp"> {
  static constexpr bool view = true;  // no target needs a kernel
  static constexpr TensorType shape(const OperandTypes&, const NoConfig&, Sentence&) { return {{dyn, 3}, 2}; }
  static constexpr None derivative{};
};
template <class Wanted, class X>
std::string refused(const TensorType& batch) {
  return refusal<ops::Refused<ops::detail::BatchRule<Wanted, X>>>({}, {batch});
}
}  // namespace

TEST_CASE("broadcast_to with a batch: each sample gets x, and x the sum of their gradients") {
  const auto x = random_tensor<float, Shape<dyn, 5>>(1);
  const auto row = random_tensor<float, Shape<1, 3>>(2);
  const auto found =
      both_modes([](const auto& v, const auto& r) { return broadcast_to<Shape<dyn, 2, 3>>(r, v); }, x, row);
  REQUIRE(found.result.n() == x.n());
  for (long i = 0; i < found.result.count(); ++i) CHECK(found.result.data()[i] == row.data()[i % 3]);
  for (float v : std::get<0>(found.gradient).values()) CHECK(v == 0);
  const auto same = both_modes([](const auto& v, const auto& r) { return zeros<Shape<dyn, 2, 3>>(v) + r; }, x, row);
  CHECK(same_bits(std::get<1>(found.gradient), std::get<1>(same.gradient)));
}

TEST_CASE("broadcast_to with a batch: all dtypes, and the bits of each element") {
  const auto batch = Tensor<std::int32_t, Shape<dyn>>::zeros(2);
  const auto special = broadcast_to<Shape<dyn, 3>>(Tensor<float, Shape<3>>::from({-0.0f, INFINITY, NAN}), batch);
  CHECK(std::signbit(special.data()[3]));
  CHECK(special.data()[4] == INFINITY);
  CHECK(std::isnan(special.data()[5]));
  const auto flags = broadcast_to<Shape<dyn, 2>>(Tensor<bool, Shape<2>>::from({true, false}), batch);
  CHECK((flags.data()[2] && !flags.data()[3]));
  const auto half = broadcast_to<Shape<dyn, 1>>(Tensor<bfloat16, Shape<>>::full(bfloat16(1.5f)), batch);
  CHECK(float(half.data()[1]) == 1.5f);
  const auto twice = broadcast_to<Shape<2 * dyn, 2>>(Tensor<std::int64_t, Shape<2>>::from({1, 2}), batch);
  CHECK(twice.count() == 8);
  CHECK(twice.data()[7] == 2);
}

TEST_CASE("broadcast_to with a batch: a parameter in front of a batch, in both modes, trains alike") {
  const auto data = dataset::from_arrays(dataset::column<Shape<2, 3>>(std::vector<float>(60, 0.5f)),
                                         dataset::column<Shape<3, 3>>(std::vector<float>(90, 0.25f))) |
                    dataset::batch(4);  // 4, 4, 2
  std::vector<float> tokens[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    WithToken net;
    CHECK(net(Tensor<float, Shape<dyn, 2, 3>>::zeros(2)).data()[9] == 1);
    Model model{net, nn::MSELoss{}, nn::SGD{.learning_rate = 0.5f}};
    model.train(2, data);
    tokens[int(mode)].assign(net.token.values().begin(), net.token.values().end());
  }
  CHECK(tokens[0] == tokens[1]);
  CHECK(tokens[0][0] < 1);
}

TEST_CASE("broadcast_to: what does not say n is refused, in both modes alike") {
  using Row = Tensor<float, Shape<1, 3>>;
  CHECK(refusal<ops::Refused<ops::detail::RepeatRule<Shape<dyn, 3>>>>({}, {Row::dims}) ==
        "broadcast_to of [1,3] to [n,3] does not know n: broadcast_to<S>(x, batch) of <tenon/more.hpp> takes it from a "
        "second operand");
  CHECK(refused<Shape<dyn, 3>, Row>(Row::dims) ==
        "broadcast_to of [1,3] to [n,3] needs a second operand with a batch size, got [1,3]");
  CHECK(refused<Shape<4, 3>, Row>(type_of<float, Shape<dyn>>) ==
        "broadcast_to of [1,3] to [4,3] needs no second operand");
  CHECK(refused<Shape<dyn, 4>, Row>(type_of<float, Shape<dyn>>) ==
        "broadcast_to got [1,3], which does not broadcast to [n,4]");
}

TEST_CASE("an operator of the user's whose result has a batch size needs an operand that has one") {
  using Alone = tenon::detail::Inference<MadeUp, NoConfig{}, TypeKey<Dtype::float32, 3>>;
  using Beside = tenon::detail::Inference<MadeUp, NoConfig{}, TypeKey<Dtype::float32, 3>, TypeKey<Dtype::int32, dyn>>;
  CHECK(Alone::sentence.view() == "MadeUp of [3] to [n,3] does not know n: no operand has it");
  CHECK(Beside::ok);
}
