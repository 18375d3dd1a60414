// Predictions for data sets, and rows as tensors.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include <doctest/doctest.h>

#include <tenon/dataset/dataset.hpp>

#include "../../support/tensors.hpp"
#include "../small.hpp"

using namespace small;
using namespace support;

namespace {
struct Two : nn::Cell<Two> {
  nn::Dense<3, 4> a;
  nn::Dense<3, 2> b;
  constexpr auto construct(auto x) const { return std::tuple(a(x), relu(b(x))); }
};
auto inputs_alone() {
  std::vector<float> x;
  for (int i = 0; i < 30; ++i) x.push_back(float(i) / 10);
  return dataset::from_arrays(dataset::column<Shape<3>>(x)) | dataset::batch(4);
}
}  // namespace

TEST_CASE("all batches, also the short one at the end, in one tensor: the bits of one prediction") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{});
    const auto all = model.predict(ten());  // the labels are left out
    CHECK(all.n() == 10);
    for (const auto& [x, y] : samples(10) | dataset::batch(10)) CHECK(same_bits(all, model.predict(x)));
    Model bare(net);
    CHECK(bare.predict(inputs_alone()).n() == 10);
  }
}
TEST_CASE("several outputs") {
  Two net;
  Model model(net);
  const auto [a, b] = model.predict(inputs_alone());
  long at = 0;
  for (const auto& [x] : inputs_alone()) {
    const auto [c, d] = model.predict(x);
    CHECK(std::equal(c.data(), c.data() + c.count(), a.data() + at * 4));
    CHECK(std::equal(d.data(), d.data() + d.count(), b.data() + at * 2));
    at += x.n();
  }
  CHECK(at == 10);
}
TEST_CASE("rows as tensors: with the epoch's order, and before batching") {
  const auto data = samples(6) | dataset::shuffle(6, 3);
  const auto order = [&](std::uint64_t epoch) {
    std::vector<float> all;
    for (const auto& [x, y] : dataset::rows(data, epoch)) all.push_back(x.data()[0]);
    return all;
  };
  CHECK(order(0) != order(1));
  for (const auto& [x, y] : data) {
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(x)>, Tensor<float, Shape<3>>>);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(y)>, Tensor<std::int32_t, Shape<>>>);
  }
  // a tensor keeps its elements when the next row comes
  std::vector<Tensor<float, Shape<dyn, 3>>> kept;
  for (const auto& [x, y] : ten()) kept.push_back(x);
  CHECK(kept[0].data()[0] != kept[1].data()[0]);
}
