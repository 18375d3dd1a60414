// flags: -O0
// Operators, their gradients, and their second derivatives on random operands in float64, against PyTorch
// (derivatives.txt, written by derivatives.py).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "derivatives.hpp"

using namespace derivatives;

const Group elements([] {
  unary("abs", [](const auto& x) { return abs(x); });
  unary("exp", [](const auto& x) { return exp(x); });
  unary("log", [](const auto& x) { return log(x); });
  unary("sqrt", [](const auto& x) { return sqrt(x); });
  unary("rsqrt", [](const auto& x) { return rsqrt(x); });
  unary("square", [](const auto& x) { return square(x); });
  unary("neg", [](const auto& x) { return neg(x); });
  unary("sigmoid", [](const auto& x) { return sigmoid(x); });
  unary("silu", [](const auto& x) { return silu(x); });
  unary("softplus", [](const auto& x) { return softplus(x); });
  unary("tanh", [](const auto& x) { return tanh(x); });
  unary("relu", [](const auto& x) { return relu(x); });
  unary("gelu", [](const auto& x) { return gelu(x); });
  unary("gelu.erf", [](const auto& x) { return gelu<ops::GeluForm::erf>(x); });
  unary("clip", [](const auto& x) { return clip_by_value(x, -0.5, 1.0); });
  unary("identity", [](const auto& x) { return identity(x); });
  unary("stop_gradient", [](const auto& x) { return x * stop_gradient(x); });
  binary("add", [](const auto& a, const auto& b) { return a + b; });
  binary("sub", [](const auto& a, const auto& b) { return a - b; });
  binary("mul", [](const auto& a, const auto& b) { return a * b; });
  binary("div", [](const auto& a, const auto& b) { return a / b; });
  binary("maximum", [](const auto& a, const auto& b) { return maximum(a, b); });
  binary("minimum", [](const auto& a, const auto& b) { return minimum(a, b); });
  binary("pow", [](const auto& a, const auto& b) { return pow(a, b); });
  check<B<dyn, 3>, D<dyn, 3>, D<dyn, 3>>("select",
                                         [](const auto& c, const auto& a, const auto& b) { return select(c, a, b); });
  check<B<3, 1>, D<2, 1, 4>, D<1>>("select.broadcast",
                                   [](const auto& c, const auto& a, const auto& b) { return where(c, a, b); });
});

const Group of_several([] {
  binary("logaddexp", [](const auto& a, const auto& b) { return logaddexp(a, b); });
  binary("floor_div", [](const auto& a, const auto& b) { return a * floor_div(a, b); });
  check<D<dyn, 3>, D<3>, D<dyn, 1>>("lerp", [](const auto& a, const auto& b, const auto& w) { return lerp(a, b, w); });
  check<D<dyn, 3>, D<3>>("lerp.number", [](const auto& a, const auto& b) { return lerp(a, b, 0.25); });
  check<D<dyn, 3>, D<3>, D<dyn, 1>>("addcmul",
                                    [](const auto& x, const auto& a, const auto& b) { return addcmul(x, a, b, 0.5f); });
  check<D<dyn, 3>, D<3>, D<dyn, 1>>("addcdiv",
                                    [](const auto& x, const auto& a, const auto& b) { return addcdiv(x, a, b, 0.5f); });
  check<D<dyn, 3>, D<3>, D<dyn, 1>>(
      "clip.bounds", [](const auto& x, const auto& low, const auto& high) { return clip_by_value(x, low, high); });
  check<D<dyn, 3>, D<2>>("clip_by_global_norm", [](const auto& a, const auto& b) {
    const auto [x, y] = clip_by_global_norm(std::tuple(a, b), 0.5);
    return reduce_sum(x * x) + y;
  });
  check<D<dyn, 3>>("nan_to_num", [](const auto& x) { return nan_to_num(x) * x; });
  check<D<dyn, 3>>("cast", [](const auto& x) { return ops::cast<double>(ops::cast<float>(x)) * x; });
  check<D<dyn, 3>>("zeros_like", [](const auto& x) { return zeros_like(x) + x * ones_like(x) * full_like(x, 2); });
  check<D<dyn, 3>>("custom_gradient", [](const auto& x) {
    return custom_gradient([](const auto& v) { return v * v; },
                           [](const auto& v, const auto&, const auto& dy) { return exp(v) * dy; })(x);
  });
});

TEST_CASE("operators, gradients, and second derivatives: what PyTorch gives in float64") {
  const FlushDenormals flush;
  for (const auto run_group : Group::all()) run_group();
  for (const auto& [name, golden] : report().golden) {
    CAPTURE(name);
    CHECK_MESSAGE(report().ran.contains(name), "a case of derivatives.txt was not run");
  }
}

namespace {
/// Second derivatives of f in float32 with all passes, which lay images out in blocks of samples, and with none.
template <class... X, class F>
void check_passes(F) {
  using Fused = Compiled<Source<2, F, X...>>;
  using Plain = Compiled<Source<2, F, X...>, no_passes>;
  constexpr long n = 32;
  std::vector<std::vector<float>> given;
  std::vector<const void*> inputs;
  const auto add = [&](const TensorType& type) {
    std::vector<float>& values = given.emplace_back(std::size_t(type.count(n)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(2 * uniform(0, int(given.size()), long(i)) - 1);
    inputs.push_back(values.data());
  };
  (add(X::dims), ...);
  add(decltype(F{}(std::declval<const Traced<typename X::type, typename X::shape_type>&>()...))::dims);
  (add(X::dims), ...);
  Executor fused(Fused::program), plain(Plain::program);
  fused.run(inputs.data(), n), plain.run(inputs.data(), n);
  REQUIRE(Fused::program.outputs == Plain::program.outputs);
  for (int k = 0; k < Fused::program.outputs; ++k) {
    CAPTURE(k);
    const std::size_t bytes = std::size_t(Fused::graph[Fused::graph.output[k]].type.bytes(n));
    CHECK(std::memcmp(fused.output(k), plain.output(k), bytes) == 0);
  }
}
template <int... E>
using Floats = Tensor<float, Shape<E...>>;
}  // namespace

TEST_CASE("second derivatives: the same bits with and without passes") {
  const FlushDenormals flush;
  check_passes<Floats<dyn, 3, 6, 6>>([](const auto& x) { return ops::max_pool2d<2>(relu(x)); });
  check_passes<Floats<dyn, 3, 6, 6>, Floats<4, 3, 3, 3>>(
      [](const auto& x, const auto& w) { return ops::max_pool2d<3, 2>(tanh(ops::conv2d<>(x, w))); });
  check_passes<Floats<dyn, 3, 4, 4>, Floats<3>, Floats<3>>([](const auto& x, const auto& gamma, const auto& beta) {
    constexpr ops::BatchNormAttributes attributes{1e-5f, 4};
    return apply<ops::BatchNorm, attributes>({}, x, apply<ops::BatchNormStatistics, attributes>({}, x), gamma, beta);
  });
  check_passes<Floats<dyn, 5, 12>>(
      [](const auto& x) { return ops::attention<AttentionConfig{.heads = 2, .causal = true}>(x); });
}
