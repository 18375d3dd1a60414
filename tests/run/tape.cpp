#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>
#include <string>

#include <tenon/nn/grad.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/ops/argmax.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_prod.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/softmax_cross_entropy.hpp>
#include <tenon/ops/square.hpp>

#include "../support/tensors.hpp"

using namespace tenon;
using eager::NoGrad, eager::Tape;
using support::same_bits, support::tensor_of;

namespace {
long allocations = 0;
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto a = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {
using Vector = Tensor<float, Shape<3>>;
using Number64 = Tensor<double, Shape<>>;

Vector vector(float a, float b, float c) { return tensor_of<float, Shape<3>>({a, b, c}); }

struct Net : nn::Cell<Net> {
  nn::Dense<3, 4> fc1;
  nn::Dense<4, 2> fc2;
  constexpr auto construct(auto x) const { return reduce_sum(fc2(relu(fc1(x)))); }
};
}  // namespace

namespace {
// The mean of two numbers: its derivative computes one value, which is the gradient of both.
struct Middle : ops::Elementwise<Middle, "TestMiddle"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    return (a + b) / 2;
  }
  static constexpr void derivative(Derivative& d) {
    const int half = d.call<ops::Mul>(d.gradient(), d.constant(0.5));
    d.flows_to(0, half);
    d.flows_to(1, half);
  }
};
auto middle(const auto& a, const auto& b) { return apply<Middle>(std::source_location::current(), a, b); }
}  // namespace

TEST_CASE("operands that share a gradient, and one that is there twice") {
  Tensor x{1.0f, 2.0f}, y{4.0f, 8.0f};
  Tape tape;
  tape.watch(x);
  tape.watch(y);
  const auto result = reduce_sum(middle(middle(x, y), x) * 8.0f);
  for (int again = 0; again < 2; ++again) {
    tape.backward(result);
    CHECK(same_bits(tape.gradient(x), Tensor{6.0f, 6.0f}));
    CHECK(same_bits(tape.gradient(y), Tensor{2.0f, 2.0f}));
  }
}

TEST_CASE("gradients of watched values, zeros for those that the result does not depend on") {
  const Vector x = vector(1, -2, 3), y = vector(4, 5, 6), unused = vector(7, 8, 9), constant = vector(1, 1, 2);
  Tape tape;
  tape.watch(x), tape.watch(y), tape.watch(unused);
  const auto z = x * y * constant + x;
  tape.backward(z);
  CHECK(same_bits(tape.gradient(x), vector(5, 6, 13)));
  CHECK(same_bits(tape.gradient(y), vector(1, -2, 6)));
  CHECK(same_bits(tape.gradient(unused), vector(0, 0, 0)));
  CHECK(same_bits(tape.gradient(constant), vector(0, 0, 0)));
  CHECK(same_bits(tape.gradient(z), vector(1, 1, 1)));
}

TEST_CASE("a gradient that starts from given values") {
  const Vector x = vector(1, 2, 3);
  Tape tape;
  tape.watch(x);
  const auto y = x * x;
  tape.backward(y, vector(1, 10, 100));
  CHECK(same_bits(tape.gradient(x), vector(2, 40, 600)));
  CHECK_THROWS_WITH_AS(tape.backward(y, Vector()), doctest::Contains("no elements"), ValueError);
  const auto rows = Tensor<float, Shape<dyn, 3>>::full(1, 2);
  tape.watch(rows);
  const auto doubled = rows + rows;
  CHECK_THROWS_WITH_AS(tape.backward(doubled, Tensor<float, Shape<dyn, 3>>::full(1, 3)),
                       doctest::Contains("batch size of 2"), ValueError);
}

TEST_CASE("a second backward forgets the first, also in the middle of the graph") {
  const Number64 x = Number64::full(3);
  Tape tape;
  tape.watch(x);
  const auto y = x * x, z = y * y;
  tape.backward(z);
  CHECK(tape.gradient(x).item() == 4 * 27);
  tape.backward(z);
  CHECK(tape.gradient(x).item() == 4 * 27);
  CHECK(tape.gradient(y).item() == 2 * 9);
  tape.backward(y);
  CHECK(tape.gradient(x).item() == 6);
  CHECK(tape.gradient(z).item() == 0);
}

TEST_CASE("a gradient is a tensor of its own") {
  const Vector x = vector(1, 2, 3), y = vector(4, 5, 6);
  Tape tape;
  tape.watch(x), tape.watch(y);
  tape.backward(x + y);
  auto gx = tape.gradient(x);
  gx.data()[0] = 99;
  CHECK(tape.gradient(y).data()[0] == 1);
  CHECK(tape.gradient(x).data()[0] == 1);
}

TEST_CASE("a loss that depends on nothing makes all gradients zero, also those of an earlier call") {
  const Vector x = vector(1, 2, 3), constant = vector(4, 5, 6);
  Tape tape;
  tape.watch(x);
  tape.backward(x * x);
  tape.backward(constant * constant);
  CHECK(same_bits(tape.gradient(x), vector(0, 0, 0)));
}

TEST_CASE("clear forgets variables and records; the tape can be used again") {
  const Vector x = vector(1, 2, 3);
  Tape tape;
  tape.watch(x);
  const auto y = x * x;
  tape.clear();
  CHECK(tape.variable(x) == -1);
  CHECK_THROWS_WITH_AS(tape.backward(y), doctest::Contains("backward: this value was computed on another tape"),
                       ValueError);
  tape.watch(x);
  tape.backward(x + x);
  CHECK(same_bits(tape.gradient(x), vector(2, 2, 2)));
}

TEST_CASE("nothing is recorded under NoGrad, while paused, or on an outer tape") {
  const Vector x = vector(1, 2, 3);
  Tape tape;
  tape.watch(x);
  {
    const NoGrad no_grad;
    CHECK(tape.variable(x * x) == -1);
    CHECK(Tape::active() == nullptr);
  }
  CHECK(Tape::active() == &tape);
  tape.pause();
  CHECK(tape.variable(x * x) == -1);
  CHECK(Tape::active() == nullptr);
  tape.resume();
  CHECK(tape.variable(x * x) >= 0);
  {
    Tape inner;
    CHECK(tape.variable(x * x) == -1);
    CHECK(inner.hides_outer());
  }
  CHECK(Tape::active() == &tape);
  {
    Tape inner;
    const Vector own = vector(1, 1, 1);
    inner.watch(own);
    inner.backward(own + own);
    CHECK_FALSE(inner.hides_outer());
  }
  CHECK(tape.variable(x * x) >= 0);
}

TEST_CASE("two networks on one tape, over many steps") {
  Net one, two;
  one.init_parameters(), two.init_parameters();
  const auto x = Tensor<float, Shape<dyn, 3>>::full(1, 2);
  Tape tape;
  for (int step = 0; step < 3; ++step) {
    tape.clear();
    const auto loss = one(x) * 2.0f + two(x);
    tape.backward(loss);
    const auto g1 = tape.gradient(one.fc2.bias), g2 = tape.gradient(two.fc2.bias);
    CHECK(g1.data()[0] == 4);
    CHECK(g2.data()[0] == 2);
    CHECK(tape.gradient_data(one.fc1.weight) != nullptr);
    CHECK(tape.gradient_data(two.fc1.weight) != nullptr);
    CHECK(tape.gradient_data(one.fc1.weight) != tape.gradient_data(two.fc1.weight));
  }
}

TEST_CASE("frozen parameters are not watched") {
  Net net;
  net.init_parameters();
  net.fc1.weight.requires_grad(false);
  Tape tape;
  tape.backward(net(Tensor<float, Shape<dyn, 3>>::full(1, 2)));
  CHECK(tape.gradient_data(net.fc1.weight) == nullptr);
  CHECK(tape.gradient_data(net.fc2.weight) != nullptr);
  CHECK(same_bits(tape.gradient(net.fc1.weight), Tensor<float, Shape<4, 3>>::full(0)));
}

TEST_CASE("after the first steps a tape allocates nothing") {
  Net net;
  net.init_parameters();
  const auto x = Tensor<float, Shape<dyn, 3>>::full(0.5f, 4);
  Tape tape;
  const auto step = [&] {
    tape.clear();
    tape.watch(x);
    const auto loss = net(x);
    tape.backward(loss);
    return tape.gradient(net.fc1.weight).data()[0];
  };
  step(), step();
  const long before = allocations;
  for (int i = 0; i < 20; ++i) step();
  CHECK(allocations == before);
  const auto larger = Tensor<float, Shape<dyn, 3>>::full(0.5f, 40000);
  net(larger);
  CHECK(allocations > before);  // the counter counts
}

TEST_CASE("what has no derivative is refused with its name, and the tape goes on") {
  const auto logits = Tensor<float, Shape<dyn, 3>>::full(1, 2);
  Tape tape;
  tape.watch(logits);
  constexpr ops::ReduceAxes rows{2, 1, 0};
  const auto gradient = apply<ops::ReduceProdGrad, rows>({}, logits, Tensor<float, Shape<dyn, 1>>::full(1, 2));
  CHECK_THROWS_WITH_AS(tape.backward(gradient), doctest::Contains("ReduceProdGrad has no derivative"), RuntimeError);
  CHECK(Tape::active() == &tape);
  tape.backward(logits + logits);
  CHECK(tape.gradient(logits).data()[0] == 2);
}

TEST_CASE("a part or a copy of a watched value is refused by operators, and is a number like others elsewhere") {
  using Matrix = Tensor<float, Shape<2, 2>>;
  const auto x = Matrix::from({1, 2, 3, 4});
  const auto refused = [](const auto& f) {
    const auto make = [&] { grad([&](auto v) { return reduce_sum(square(f(v))); })(Matrix::from({1, 2, 3, 4})); };
    CHECK_THROWS_WITH_AS(make(), doctest::Contains("slice<Part{0, 2}>(x) or cast<T>(x), or say that no gradient"),
                         ValueError);
  };
  refused([](const auto& v) { return v[1]; });
  refused([](const auto& v) { return v[Range{0, 1}]; });
  refused([](const auto& v) { return v.template slice<0, 0, 1>(); });
  refused([](const auto& v) { return v.template slice<1, 0, 1>(); });
  refused([](const auto& v) { return v.template to<double>(); });
  refused([](const auto& v) { return v.copy(); });
  refused([](const auto& v) { return (v * v)[0]; });

  // as a constant, and outside of the calculation
  const auto slope = grad([](auto v) {
    CHECK(v[1].data()[0] == 3);
    return reduce_sum(v * stop_gradient(v)[0]);
  })(x);
  CHECK(slope.data()[3] == 2);
  Tape tape;
  tape.watch(x);
  const auto y = square(x);
  tape.pause();
  CHECK(reduce_sum(y[1]).item() == 25);
  // a part may be watched itself
  Tape other;
  const auto row = x[1];
  other.watch(row);
  other.backward(reduce_sum(square(row)));
  CHECK(other.gradient(row).data()[1] == 8);
  // of a tape that is no longer there it is a number
  CHECK(grad([&](auto v) { return reduce_sum(v * y[0]); })(x).data()[0] == 1);
}

TEST_CASE("no gradient flows through integers, as in a graph") {
  const auto x = tensor_of<float, Shape<dyn, 3>>({1, 5, 2, 9, 1, 0});
  Tape tape;
  tape.watch(x);
  const auto largest = argmax<1>(x);
  CHECK(tape.variable(largest) == -1);
  const auto y = reduce_sum<1>(x) + cast<float>(largest);
  tape.backward(y);
  CHECK(same_bits(tape.gradient(x), Tensor<float, Shape<dyn, 3>>::full(1, 2)));
}

TEST_CASE("operands that do not fit are refused, and nothing is recorded of them") {
  const auto two = Tensor<float, Shape<dyn, 3>>::full(1, 2), three = Tensor<float, Shape<dyn, 3>>::full(1, 3);
  Tape tape;
  tape.watch(two);
  CHECK_THROWS_WITH_AS(two + three, doctest::Contains("batch size 2 and 3"), ValueError);
  CHECK_THROWS_WITH_AS((two + Tensor<float, Shape<dyn, 3>>()), doctest::Contains("without elements"), ValueError);
  tape.backward(two + two);
  CHECK(tape.gradient(two).data()[0] == 2);
}

TEST_CASE("a view keeps the elements alive, and its gradient has the shape of the original") {
  Tensor<float, Shape<3, 1>> view;
  {
    const Vector owner = vector(1, 2, 3);
    view = reshape<Shape<3, 1>>(owner);
    CHECK(view.data() == owner.data());
  }
  const auto noise = Vector::full(-1);  // would take the block if it were free
  CHECK(view.data()[2] == 3);
  CHECK(noise.data() != view.data());

  const Vector x = vector(1, 2, 3);
  Tape tape;
  tape.watch(x);
  const auto y = reshape<Shape<3, 1>>(x) * reshape<Shape<3, 1>>(x);
  tape.backward(y);
  CHECK(same_bits(tape.gradient(x), vector(2, 4, 6)));
}

TEST_CASE("a number in a formula outlives the call on the tape") {
  const Vector x = vector(1, 2, 3);
  Tape tape;
  tape.watch(x);
  Vector y = x;
  for (int i = 0; i < 3; ++i) y = y * (i + 2.0f);
  tape.backward(y);
  CHECK(same_bits(tape.gradient(x), vector(24, 24, 24)));
}
