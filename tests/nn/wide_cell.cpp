// A cell of 60 members: more than any model of ours has.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
struct Wide : nn::Cell<Wide> {
  nn::Dense<4, 4> d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19, d20, d21,
      d22, d23, d24, d25, d26, d27, d28, d29, d30, d31, d32, d33, d34, d35, d36, d37, d38, d39, d40, d41, d42, d43, d44,
      d45, d46, d47, d48, d49, d50, d51, d52, d53, d54, d55, d56, d57, d58, d59;

  constexpr auto construct(auto x) const {
    return after(x, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19, d20, d21,
                 d22, d23, d24, d25, d26, d27, d28, d29, d30, d31, d32, d33, d34, d35, d36, d37, d38, d39, d40, d41,
                 d42, d43, d44, d45, d46, d47, d48, d49, d50, d51, d52, d53, d54, d55, d56, d57, d58, d59);
  }

  // one layer behind the other, each with a way around it
  static constexpr auto after(auto x) { return x; }
  static constexpr auto after(auto x, const auto& first, const auto&... others) {
    return after(x + tanh(first(x)), others...);
  }
};

std::vector<std::vector<float>> values_of(const Wide& net) {
  std::vector<std::vector<float>> all;
  for (const auto& [name, parameter] : net.parameters_dict()) {
    const auto values = parameter.view().as<float>();
    all.emplace_back(values.begin(), values.end());
  }
  return all;
}
}  // namespace

TEST_CASE("a cell of 60 cells trains: each parameter changes, to equal bits in both modes") {
  const std::vector<float> x(8 * 4, 0.25f), y(8 * 4, 1.0f);
  const auto data =
      dataset::from_arrays(dataset::column<Shape<4>>(x), dataset::column<Shape<4>>(y)) | dataset::batch(4);
  std::vector<std::vector<float>> trained[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 1});
    Wide net;
    net.init_parameters();
    const auto before = values_of(net);
    Model model{net, nn::MSELoss{}, nn::SGD{.learning_rate = 0.001f}};
    model.train(2, data);
    auto& after = trained[mode == Mode::graph] = values_of(net);
    REQUIRE(after.size() == 120);
    for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i] != before[i]);
  }
  CHECK(trained[0] == trained[1]);
}
