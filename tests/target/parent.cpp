// Targets say what their kernels can do, and passes ask: a target with a parent and one kernel of its own, which
// applies an epilogue, while the parent's kernels do one thing each.
#define TENON_TARGET child
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

/// An element-wise step after a product, which the product's kernel may take, and two after a sum of rows, which are a
/// chain on the CPU.
struct Net : nn::Cell<Net> {
  nn::Dense<4, 2> fc;
  constexpr auto construct(auto x) const { return exp(neg(relu(reduce_sum<1>(relu(fc(x)))))); }
};

constexpr auto product = [](auto x, auto weight, auto bias) { return relu(matmul(x, weight) + bias); };
constexpr auto chain = [](auto x) { return exp(neg(relu(x))); };
template <class F, class Target, class... Keys>
constexpr int instructions(F) {
  return Compiled<tenon::detail::FunctionGraph<F, Keys...>, Passes{}, Target>::program.instructions;
}
template <class Target>
constexpr int of_product = instructions<decltype(product), Target, TypeKey<Dtype::float32, dyn, 4>,
                                        TypeKey<Dtype::float32, 4, 2>, TypeKey<Dtype::float32, 2>>(product);
template <class Target>
constexpr int of_chain = instructions<decltype(chain), Target, TypeKey<Dtype::float32, dyn, 4>>(chain);

using X = Tensor<float, Shape<dyn, 4>>;

/// Results of a batch of rows that have exact sums.
std::vector<float> predicted(std::string_view target, Mode mode, float bias) {
  const ContextScope scope({.mode = mode, .device_target = target});
  Net net;
  net.init_parameters();
  for (float& v : net.fc.weight.values()) v = 0.25f;
  for (float& v : net.fc.bias.values()) v = bias;
  Model model{net};
  const auto y = model.predict(X::from({1, 2, 3, 4, -4, -3, -2, -1, 0, 0, 0, 2}));
  return {y.values().begin(), y.values().end()};
}

}  // namespace

TEST_CASE("a target with a parent computes what the CPU computes, with its own kernel where it has one") {
  for (const float bias : {0.0f, -100.0f, 1.5f})
    for (const Mode mode : {Mode::graph, Mode::pynative}) {
      CAPTURE(bias);
      const long before = Child::products;
      CHECK(predicted("Child", mode, bias) == predicted("CPU", mode, bias));
      CHECK(Child::products == before + 1);
    }
}

TEST_CASE("passes join what the kernels of a target can join") {
  CHECK(of_product<Cpu> == 1);
  CHECK(of_product<Child> == 1);  // its own kernel applies the steps
  CHECK(of_chain<Cpu> == 1);
  CHECK(of_chain<Child> == 3);  // its parent has no kernel of a chain
}

TEST_CASE("a training on it has the same bits in both modes") {
  std::vector<float> weights[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .device_target = "Child", .seed = 3});
    Net net;
    Model model{net, nn::MSELoss{}, nn::Adam{.learning_rate = 0.1f}, nn::Loss{}};
    const std::vector<float> x{1, 2, 3, 4, -4, -3, -2, -1, 0, 0, 0, 2}, y{0.5f, 0.25f, 0};
    const auto rows = dataset::from_arrays(dataset::column<Shape<4>>(x), dataset::column<Shape<>>(y));
    const double first = model.eval(rows | dataset::batch(3))["loss"];
    model.train(5, rows | dataset::batch(3));
    CHECK(double(model.eval(rows | dataset::batch(3))["loss"]) < first);
    auto& kept = weights[mode == Mode::graph];
    for (const auto& [name, parameter] : net.parameters_dict()) {
      const auto values = parameter.view().as<float>();
      kept.insert(kept.end(), values.begin(), values.end());
    }
  }
  CHECK(weights[0] == weights[1]);
}
