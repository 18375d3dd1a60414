// label: long
// A kernel per sample and one for the sums over the batch, with the bits of the CPU: several optimizers, frozen
// parameters, 16 bits, products that are too large for it, gradients that are means.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tuple>

#include <tenon/more.hpp>
#include <tenon/train/amp.hpp>

#include "sample.hpp"

using namespace sample_test;

namespace {
/// A layer that is a product of the batch, and the others.
template <int inputs>
struct Wide : nn::Cell<Wide<inputs>> {
  nn::Dense<inputs, 512> fc1;
  nn::Dense<512, 10> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
/// Gradients that are means: of all samples and features, which lanes of a warp compute together, and of the samples.
constexpr auto scaled = custom_gradient(
    [](auto v, auto s) { return v * s; },
    [](auto v, auto s, auto, auto dy) { return std::tuple(dy * s, reshape<Shape<1>>(reduce_mean(dy * v))); });
constexpr auto shifted = custom_gradient([](auto v, auto s) { return v + s; },
                                         [](auto, auto, auto, auto dy) { return std::tuple(dy, reduce_mean<0>(dy)); });
template <bool of_all>
struct Scaled : nn::Cell<Scaled<of_all>> {
  Parameter<float, Shape<of_all ? 1 : 20>, nn::One{}> number;
  nn::Dense<20, 50> fc1;
  nn::Dense<50, 3> fc2;
  constexpr auto construct(auto x) const {
    if constexpr (of_all) return fc2(tanh(fc1(scaled(x, number))));
    else return fc2(tanh(fc1(shifted(x, number))));
  }
};
}  // namespace

TEST_CASE("several optimizers") {
  CHECK_WORKS(works<support::Mlp>(target_test::images<20>(40, 10, 4), nn::Adam{.learning_rate = 0.01f}), 2);
  CHECK_WORKS(works<support::Mlp>(target_test::images<20>(40, 10, 4), nn::SGD{.learning_rate = 0.1f}), 2);
}

TEST_CASE("a large product stays one of the batch") {
  // a thread of its gradient has two rows of four elements, or four
  CHECK_WORKS(works<Wide<400>>(target_test::images<400>(51, 17, 10)), 3);
  CHECK_WORKS(works<Wide<640>>(target_test::images<640>(38, 19, 10)), 3);
}

TEST_CASE("updates by means") {
  CHECK_WORKS(works<Scaled<true>>(target_test::images<20>(38, 19, 3)), 2);
  CHECK_WORKS(works<Scaled<false>>(target_test::images<20>(38, 19, 3)), 2);
}

TEST_CASE("frozen parameters, and those of 16 bits with a scaled loss") {
  const auto freeze = [](support::Mlp& net) { net.fc2.weight.requires_grad(false); };
  works<support::Mlp>(target_test::images<20>(40, 10, 4), momentum, freeze);
  works<support::Mlp>(target_test::images<20>(40, 10, 4), momentum, as_it_is, amp<AmpLevel::O2>);
  works<support::Mlp>(target_test::images<20>(40, 10, 4), momentum, as_it_is, DynamicLossScaleManager{});
}
