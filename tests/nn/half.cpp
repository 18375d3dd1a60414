// Cells on 16-bit floats: parameters stay float32 and follow the values that they meet.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

#include "support.hpp"

using namespace tenon;
using cells::modes;

namespace {

struct Image : nn::Cell<Image> {
  nn::Conv2d<2, 4, 3, nn::Conv2dConfig{.has_bias = true}> conv;
  nn::BatchNorm2d<4> norm;
  nn::Dense<64, 8> fc;
  nn::BatchNorm1d<8> rows;
  constexpr auto construct(auto x) const { return rows(fc(flatten(max_pool2d<2>(relu(norm(conv(x))))))); }
};
struct Attends : nn::Cell<Attends> {
  nn::PositionalEmbedding<8, 12> position;  // longer than the input: a part of the table
  nn::LayerNorm<Shape<12>> norm;
  nn::MultiHeadAttention<12, 2> attention;
  constexpr auto construct(auto x) const {
    auto y = norm(position(x));
    return y + attention(y) + attention(y, x, x);
  }
};
struct Remembers : nn::Cell<Remembers> {
  nn::LSTM<3, 4, nn::LSTMConfig{.num_layers = 2, .bidirectional = true}> lstm;
  nn::GRU<8, 5> gru;
  nn::LSTMCell<5, 4> step;
  nn::GRUCell<4, 3> last;
  constexpr auto construct(auto x) const {
    auto [output, h, c] = lstm(x);
    auto [again, state] = gru(output);
    auto begin = squeeze<1>(state);
    auto [short_term, long_term] = step(begin, slice<Part{}, Part{0, 4}>(begin), slice<Part{}, Part{1, 5}>(begin));
    return last(short_term, slice<Part{}, Part{0, 3}>(long_term));
  }
};
/// Parameters of the user's own: a factor, the same under another shape, and one by value_in.
struct Own : nn::Cell<Own> {
  Parameter<float, Shape<3>, nn::Uniform{1}> factor;
  Parameter<float, Shape<3, 3>, nn::Uniform{1}> weight;
  constexpr auto construct(auto x) const {
    using Row = ParameterView<Parameter<float, Shape<3>, nn::Uniform{1}>, Shape<1, 3>>;
    return matmul(x * factor, weight) - value_in(x, factor) * 2 + x * Row{factor};
  }
};

/// Result and gradients of sum(net(x)²) for a 16-bit x, operator by operator and as one graph.
template <class T, class Net, class X>
void check(const X& given, double tolerance) {
  using Half = Tensor<T, typename X::shape_type>;
  const auto x = cast<T>(given);
  std::vector<std::string> bits;
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode, .seed = 5});
    Net net;
    net.init_parameters();
    const auto y = net(x);
    static_assert(std::is_same_v<typename decltype(y)::type, T>, "a network of 16-bit values gives 16-bit values");
    bits.emplace_back(reinterpret_cast<const char*>(y.data()), std::size_t(y.count()) * sizeof(T));
    const auto exact = net(given);
    for (long i = 0; i < y.count(); ++i) CHECK(std::abs(double(y.data()[i]) - double(exact.data()[i])) < tolerance);
  }
  CHECK(bits[0] == bits[1]);

  // Training: gradients reach the float32 parameters in float32, near to those of a float32 network.
  const ContextScope scope({.mode = Mode::pynative, .seed = 5});
  Net net;
  net.init_parameters();
  net.set_train();
  const auto [loss, half] = value_and_grad(
      [&](const Half& v) {
        const auto y = cast<float>(net(v));
        return reduce_mean(y * y);
      },
      net)(x);
  const auto [same, full] = value_and_grad(
      [&](const X& v) {
        const auto y = net(v);
        return reduce_mean(y * y);
      },
      net)(given);
  CHECK(std::abs(loss.item() - same.item()) < tolerance);
  for (const auto& [name, parameter] : net.parameters_and_names()) {
    if (!parameter.trainable()) continue;
    CAPTURE(name);
    const AnyTensor a = half[name], b = full[name];
    REQUIRE(a.data);
    CHECK(a.dtype == Dtype::float32);
    for (std::size_t i = 0; i < a.as<float>().size(); ++i)
      CHECK(std::abs(a.as<float>()[i] - b.as<float>()[i]) < tolerance);
  }
}

template <class S>
auto numbers(long n) {
  return support::random_tensor<float, S>(9, -1, 1, n);
}

}  // namespace

// Tolerances: bfloat16 has 8 significant bits, float16 11. A value of size 1 to 4 behind a handful of operators that
// round is off by a few times 2^-8 or 2^-11; normalized values grow that by the reciprocal of their deviation.
TEST_CASE("half: images, convolution, both batch norms") {
  check<bfloat16, Image>(numbers<Shape<dyn, 2, 8, 8>>(6), 0.1);
  check<float16, Image>(numbers<Shape<dyn, 2, 8, 8>>(6), 0.0125);
}
TEST_CASE("half: layer norm, attention of one and of three tensors, a part of a table") {
  check<bfloat16, Attends>(numbers<Shape<dyn, 5, 12>>(3), 0.08);
  check<float16, Attends>(numbers<Shape<dyn, 5, 12>>(3), 0.01);
}
TEST_CASE("half: recurrent cells run their time loop in float32") {
  check<bfloat16, Remembers>(numbers<Shape<dyn, 6, 3>>(3), 0.02);
  check<float16, Remembers>(numbers<Shape<dyn, 6, 3>>(3), 0.0025);
}
TEST_CASE("half: parameters of a cell of one's own") {
  check<bfloat16, Own>(numbers<Shape<dyn, 3>>(4), 0.05);
  check<float16, Own>(numbers<Shape<dyn, 3>>(4), 0.00625);
}

TEST_CASE("half: evaluation by moving statistics rounds once") {
  nn::BatchNorm1d<3> norm;
  norm.init_parameters();
  for (int c = 0; c < 3; ++c) {
    norm.gamma.values()[std::size_t(c)] = 1.5f - float(c), norm.beta.values()[std::size_t(c)] = 0.01f * float(c);
    norm.moving_mean.values()[std::size_t(c)] = 0.1f * float(c),
    norm.moving_variance.values()[std::size_t(c)] = 0.5f + float(c);
  }
  const auto x = cast<bfloat16>(numbers<Shape<dyn, 3>>(5));
  CHECK(bit_equal(norm(x), cast<bfloat16>(norm(cast<float>(x)))));
}

TEST_CASE("half: a double beside float32 parameters is no 16-bit float") {
  using namespace tenon::detail;
  using P = Parameter<float, Shape<3>, nn::Zero{}>;
  static_assert(parameters_as<ops::Mul, Tensor<double, Shape<dyn, 3>>, P>() == Dtype::float32);
  static_assert(parameters_as<ops::Mul, Tensor<bfloat16, Shape<dyn, 3>>, P>() == Dtype::bfloat16);
  static_assert(parameters_as<ops::LayerNorm, Tensor<bfloat16, Shape<dyn, 3>>, P, P>() == Dtype::float32);
  static_assert(parameters_as<ops::UpdateMoving, P, Tensor<bfloat16, Shape<5, 3>>>() == Dtype::float32,
                "an effect writes the parameter itself");
  CHECK(!EagerCall<ops::Mul, NoConfig{}, Tensor<double, Shape<dyn, 3>>, P>::ok);
  CHECK(EagerCall<ops::Mul, NoConfig{}, Tensor<float16, Shape<dyn, 3>>, P>::ok);
}
