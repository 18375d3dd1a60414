// What the generic tests of element-wise operators cannot know: limits, NaN, ties, refusals, folding.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <tenon/ops/abs.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/ops/logical.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/pow.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/silu.hpp>
#include <tenon/ops/softplus.hpp>
#include <tenon/ops/tanh.hpp>

using namespace tenon;
using namespace support;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
template <class F>
float at(const F& f, float x) {
  return f(Tensor<float, Shape<>>::full(x)).item();
}
template <class F>
float slope(const F& f, float x) {
  const auto v = Tensor<float, Shape<>>::full(x);
  eager::Tape tape;
  tape.watch(v);
  tape.backward(f(v));
  return tape.gradient(v).item();
}
bool near(double found, double expected, double relative = 1e-6) {
  return std::fabs(found - expected) <= relative * std::fabs(expected);
}
constexpr TensorType of(Dtype d, int a, int b) { return {{a, b}, 2, d}; }

}  // namespace

TEST_CASE("sigmoid, softplus, silu, gelu neither overflow nor lose what is small") {
  const auto sigmoid_of = [](const auto& x) { return sigmoid(x); };
  CHECK(near(at(sigmoid_of, -80), std::exp(-80.0)));
  CHECK(at(sigmoid_of, 200) == 1);
  CHECK(at(sigmoid_of, -infinity) == 0);
  CHECK(at(sigmoid_of, 0) == 0.5f);
  const auto softplus_of = [](const auto& x) { return softplus(x); };
  CHECK(near(at(softplus_of, -80), std::exp(-80.0)));
  CHECK(at(softplus_of, 1000) == 1000);
  CHECK(near(at(softplus_of, 0), std::log(2.0)));
  CHECK(near(slope(softplus_of, -20), std::exp(-20.0)));
  const auto silu_of = [](const auto& x) { return silu(x); };
  CHECK(near(at(silu_of, -50), -50 * std::exp(-50.0)));
  CHECK(at(silu_of, 100) == 100);
  CHECK(slope(silu_of, 100) == 1);
  const auto gelu_erf = [](const auto& x) { return gelu<ops::GeluForm::erf>(x); };
  CHECK(near(at(gelu_erf, -8), -8 * 0.5 * std::erfc(8 / std::sqrt(2.0)), 3e-6));
  CHECK(at(gelu_erf, 50) == 50);
  const auto gelu_of = [](const auto& x) { return gelu(x); };
  CHECK(at(gelu_of, 50) == 50);
  CHECK(at(gelu_of, -50) == 0);
  CHECK(near(at(gelu_of, 1), 0.841191990608));
  CHECK(near(at(gelu_of, -1), -0.158808009392));
  CHECK(std::isnan(at(sigmoid_of, std::nanf(""))));
  CHECK(std::isnan(at(softplus_of, std::nanf(""))));
}

TEST_CASE("maximum and minimum: NaN wins, ties share the gradient") {
  const auto a = tensor_of<float, Shape<4>>({1, std::nanf(""), 2, 5}),
             b = tensor_of<float, Shape<4>>({1, 1, std::nanf(""), 3});
  const auto larger = maximum(a, b), smaller = minimum(a, b);
  CHECK(std::isnan(larger.values()[1]));
  CHECK(std::isnan(larger.values()[2]));
  CHECK(std::isnan(smaller.values()[1]));
  CHECK(std::isnan(smaller.values()[2]));
  CHECK(larger.values()[3] == 5);
  CHECK(smaller.values()[3] == 3);
  eager::Tape tape;
  tape.watch(a);
  tape.watch(b);
  tape.backward(maximum(a, b) + 3 * minimum(a, b));
  const float of_a[]{2, 4, 4, 1}, of_b[]{2, 4, 4, 3};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(tape.gradient(a).values()[i] == of_a[i]);
    CHECK(tape.gradient(b).values()[i] == of_b[i]);
  }
}

TEST_CASE("relu: NaN goes through, and so does its gradient; -0 stays, 0 gives no gradient") {
  const float nan = std::nanf("");
  const auto x = tensor_of<float, Shape<6>>({nan, -nan, -0.0f, 0, -infinity, infinity});
  const auto [y, gradient] = both_modes<SameNumbers>([](const auto& v) { return relu(v) * 2.0f; }, x);
  CHECK(std::isnan(y.values()[0]));
  CHECK(std::isnan(y.values()[1]));
  CHECK((y.values()[2] == 0 && std::signbit(y.values()[2])));
  CHECK((y.values()[3] == 0 && !std::signbit(y.values()[3])));
  CHECK((y.values()[4] == 0 && !std::signbit(y.values()[4])));
  CHECK(y.values()[5] == infinity);
  for (const std::size_t i : {0, 1, 5}) CHECK(std::get<0>(gradient).values()[i] != 0);
  for (const std::size_t i : {2, 3, 4}) CHECK(std::get<0>(gradient).values()[i] == 0);
  CHECK(std::isnan(float(relu(Tensor<float16, Shape<>>::full(float16(nan))).item())));
  CHECK(std::isnan(float(relu(Tensor<bfloat16, Shape<>>::full(bfloat16(nan))).item())));
}

TEST_CASE("select of every dtype: whole blocks and a rest, one value for all, bits of NaN and of -0") {
  const auto check = []<class T>(std::type_identity<T>) {
    auto condition = Tensor<bool, Shape<dyn, 37>>::empty(3);
    auto x = Tensor<T, Shape<dyn, 37>>::empty(3), y = Tensor<T, Shape<dyn, 37>>::empty(3);
    for (long i = 0; i < x.count(); ++i) {
      condition.data()[i] = i * 7 % 5 < 2;
      x.data()[i] = static_cast<T>(float(i % 9 - (std::is_unsigned_v<T> ? 0 : 4))),
      y.data()[i] = static_cast<T>(float(i % 11));
    }
    if constexpr (is_floating(dtype_of<T>)) {
      x.data()[0] = static_cast<T>(std::numeric_limits<float>::quiet_NaN()), y.data()[1] = static_cast<T>(-0.0f);
    }
    const auto z = select(condition, x, y), one = select(condition, x, 2);
    const T two = static_cast<T>(2.0f);
    for (long i = 0; i < x.count(); ++i) {
      CHECK_UNARY(std::memcmp(z.data() + i, (condition.data()[i] ? x : y).data() + i, sizeof(T)) == 0);
      CHECK_UNARY(std::memcmp(one.data() + i, condition.data()[i] ? x.data() + i : &two, sizeof(T)) == 0);
    }
  };
  check(std::type_identity<float>());
  check(std::type_identity<double>());
  check(std::type_identity<bfloat16>());
  check(std::type_identity<std::int32_t>());
  check(std::type_identity<std::int64_t>());
  check(std::type_identity<std::uint8_t>());
}

TEST_CASE("pow at the points where a factor is 0 or infinite") {
  const auto base = tensor_of<float, Shape<6>>({0, 0, 0, 2, -2, -2}),
             exponent = tensor_of<float, Shape<6>>({2, 1, 0, 0, 3, 0.5f});
  eager::Tape tape;
  tape.watch(base);
  tape.watch(exponent);
  const auto y = pow(base, exponent);
  tape.backward(y);
  const float value[]{0, 0, 1, 1, -8}, of_base[]{0, 1, 0, 0, 12};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(y.values()[i] == value[i]);
    CHECK(tape.gradient(base).values()[i] == of_base[i]);
  }
  CHECK(std::isnan(y.values()[5]));
  const auto of_exponent = tape.gradient(exponent);
  CHECK(of_exponent.values()[0] == 0);
  CHECK(of_exponent.values()[1] == 0);
  CHECK(of_exponent.values()[2] == 0);
  CHECK(near(of_exponent.values()[3], std::log(2.0)));
  CHECK(std::isnan(of_exponent.values()[4]));
}

TEST_CASE("abs and comparisons at zero and NaN") {
  const auto abs_of = [](const auto& x) { return abs(x); };
  CHECK_FALSE(std::signbit(at(abs_of, -0.0f)));
  CHECK(slope(abs_of, 0) == 0);
  CHECK(abs(Tensor<std::int8_t, Shape<>>::full(-128)).item() == -128);
  CHECK(std::isnan(at(abs_of, std::nanf(""))));
  const auto nan = Tensor<float, Shape<>>::full(std::nanf(""));
  CHECK_FALSE((nan == nan).item());
  CHECK((nan != nan).item());
  CHECK_FALSE((nan <= nan).item());
  CHECK((Tensor<std::uint64_t, Shape<>>::full(~0ull) > Tensor<std::uint64_t, Shape<>>::full(1)).item());
}

TEST_CASE("the truth tables") {
  const auto a = tensor_of<bool, Shape<4>>({false, false, true, true}),
             b = tensor_of<bool, Shape<4>>({false, true, false, true});
  CHECK(same_bits(logical_and(a, b), tensor_of<bool, Shape<4>>({false, false, false, true})));
  CHECK(same_bits(logical_or(a, b), tensor_of<bool, Shape<4>>({false, true, true, true})));
  CHECK(same_bits(logical_xor(a, b), tensor_of<bool, Shape<4>>({false, true, true, false})));
  CHECK(same_bits(logical_not(a), tensor_of<bool, Shape<4>>({true, true, false, false})));
  CHECK(same_bits(both_modes([](auto x, auto y) { return (x & y) | ~x; }, a, b).result,
                  tensor_of<bool, Shape<4>>({true, true, false, true})));
}

TEST_CASE("operands that do not fit are refused in a sentence") {
  using enum Dtype;
  CHECK(refusal<ops::Sub>({}, {of(float32, 2, 3), of(float32, 2, 4)}) ==
        "Sub of [2,3] and [2,4]: the shapes do not broadcast");
  CHECK(refusal<ops::Sub>({}, {of(float32, dyn, 3), of(float32, 2, 3)}) ==
        "Sub of [n,3] and [2,3]: the shapes do not broadcast");
  CHECK(refusal<ops::Div>({}, {of(float32, 2, 3), of(float16, 2, 3)}) ==
        "Div of float32 [2,3] and float16 [2,3]: cast one of them, dtypes must agree");
  CHECK(refusal<ops::Exp>({}, {of(int32, 2, 3)}) == "Exp needs floating-point operands, got int32 [2,3]: cast it");
  CHECK(refusal<ops::Add>({}, {of(bool_, 2, 3), of(bool_, 2, 3)}) ==
        "Add needs operands that are numbers, got bool [2,3]: cast it");
  CHECK(refusal<ops::LogicalNot>({}, {of(float32, 2, 3)}) ==
        "LogicalNot needs bool operands, got float32 [2,3]: cast it");
  CHECK(refusal<ops::Select>({}, {of(float32, 2, 3), of(float32, 2, 3), of(float32, 2, 3)}) ==
        "Select needs a bool condition, got float32 [2,3]: compare it with something");
  CHECK(refusal<ops::Select>({}, {of(bool_, 2, 3), of(float32, 2, 3), of(int32, 2, 3)}) ==
        "Select between float32 [2,3] and int32 [2,3]: cast one of them, dtypes must agree");
  CHECK(refusal<ops::Select>({}, {of(bool_, 2, 3), of(float32, 2, 4), of(float32, 2, 3)}) ==
        "Select of [2,3], [2,4], and [2,3]: the shapes do not broadcast");
  CHECK(result_type<ops::Less>({}, {of(float16, dyn, 3), of(float16, 1, 1)}) == "bool [n,3]");
  CHECK(result_type<ops::Select>({}, {of(bool_, 1, 3), of(float64, dyn, 1), of(float64, 1, 1)}) == "float64 [n,3]");
}

namespace {
/// folded<Op> for two constants against Op run as a kernel on tensors of these constants.
template <class Op, class T>
void check_fold(std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < 50; ++i) {
    double a = std::ldexp(random.uniform(-1, 1), int(random.below(12))),
           b = std::ldexp(random.uniform(-1, 1), int(random.below(12)));
    if constexpr (std::is_integral_v<T>) a = std::trunc(a * 1e4), b = std::trunc(b * 1e4);
    CAPTURE(a);
    CAPTURE(b);
    const auto constant = [](double v) {
      auto t = Tensor<T, Shape<>>::empty();
      const std::uint64_t bytes = constant_bytes(dtype_of<T>, v);
      std::memcpy(static_cast<void*>(t.data()), &bytes, sizeof(T));
      return t;
    };
    const double folded = ops::folded<Op, 2>(dtype_of<T>, a, b);
    const double computed = static_cast<double>(tenon::apply<Op>({}, constant(a), constant(b)).item());
    // floating-point of this size is folded
    if constexpr (!std::is_same_v<Op, ops::Div>) CHECK((folded == folded || std::is_integral_v<T>));
    if (folded == folded) CHECK(folded == computed);
  }
}
template <class Op>
void check_folds() {
  check_fold<Op, float>(1);
  check_fold<Op, double>(2);
  check_fold<Op, float16>(3);
  check_fold<Op, bfloat16>(4);
}
struct TwoConstants {
  [[maybe_unused]] static constexpr const Entry* entries = nullptr;
  static constexpr Builder trace() {
    Builder b;
    const int x = b.leaf(&info<ops::Input>, type_of<float, Shape<3>>, 0);
    const int third = b.call<ops::Div>({}, b.constant(Dtype::float32, 1), b.constant(Dtype::float32, 3));
    const int zero_over_zero = b.call<ops::Div>({}, b.constant(Dtype::float32, 0), b.constant(Dtype::float32, 0));
    b.outputs.push_back(b.call<ops::Mul>({}, x, third));
    b.outputs.push_back(zero_over_zero);
    return b;
  }
};
}  // namespace

TEST_CASE("a folded constant has the bits that the kernel would give") {
  check_folds<ops::Add>();
  check_folds<ops::Sub>();
  check_folds<ops::Mul>();
  check_folds<ops::Div>();
  check_fold<ops::Add, std::int32_t>(5);
  check_fold<ops::Mul, std::int32_t>(6);
  check_fold<ops::Mul, std::int64_t>(7);
  CHECK(ops::folded<ops::Neg, 1>(Dtype::float32, 0.1, 0) == -double(0.1f));
  CHECK(std::isnan(ops::folded<ops::Div, 2>(Dtype::float32, 1, 0)));
  CHECK(std::isnan(ops::folded<ops::Mul, 2>(Dtype::float32, 1e30, 1e30)));
}
TEST_CASE("the graph folds 1 / 3 and leaves 0 / 0 to its kernel") {
  constexpr auto& graph = Compiled<TwoConstants>::graph;
  static_assert(graph.count == 5);  // input, third, their product; zero, its quotient by itself
  int divisions = 0;
  for (int id = 0; id < graph.count; ++id) {
    divisions += is<ops::Div>(graph[id]);
    if (is<ops::Mul>(graph[id])) CHECK(constant_value(graph[graph[id].operand[1]]) == double(1.0f / 3));
  }
  CHECK(divisions == 1);
}

TEST_CASE("abs: its gradient is a product with the sign, so a NaN or infinity from above is NaN at 0, as in PyTorch") {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x{0.0f, NAN, 1.0f, -1.0f, 0.0f, -0.0f}, dy{NAN, 1.0f, NAN, NAN, inf, 2.0f};
  eager::Tape tape;
  tape.watch(x);
  const auto y = ops::abs(x);
  tape.pause();
  tape.backward(y, dy);
  const auto g = tape.gradient(x);
  const bool is_nan[6]{true, false, true, true, true, false};
  for (int i = 0; i < 6; ++i) CHECK(std::isnan(g.data()[i]) == is_nan[i]);
  CHECK((g.data()[1] == 0 && g.data()[5] == 0));
}
