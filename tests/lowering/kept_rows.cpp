// Dense layers of sequences, whose weights are kept between calls of a network: the same bits as without.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <tenon/tenon.hpp>

#include "../support/tensors.hpp"

using namespace tenon;
using support::random_tensor;

namespace {
/// Rows of sequences: panels that no product fills, several segments of sums, and a layer of fewer rows, whose weights
/// are kept for batches for which those of the others are not.
struct Sequences : nn::Cell<Sequences> {
  nn::Dense<70, 300> up;
  nn::Dense<300, 37> down;
  nn::Dense<37, 48, nn::DenseConfig{.has_bias = false}> head;
  constexpr auto construct(auto x) const { return head(slice<1, Part{0, 3}>(down(gelu(up(x))))); }
};
struct Twice : nn::Cell<Twice> {
  Sequences first, second;
  constexpr auto construct(auto x) const { return first(x) + second(x); }
};
using Rows = Tensor<float, Shape<dyn, 40, 70>>;
using PredictRows = Compiled<tenon::detail::EvalStep<Sequences, NoLoss, TypeKey<Dtype::float32, dyn, 40, 70>>>;
static_assert(PredictRows::program.kept_operands == 3);
Rows rows(int seed, long n) { return random_tensor<float, Shape<dyn, 40, 70>>(seed, -1, 1, n); }
auto expected_rows(const Sequences& net, const Rows& x) {
  const ContextScope scope({.mode = Mode::pynative});
  return net(x);
}
}  // namespace

TEST_CASE("kept rows: what is right for all batches is made once") {
  Sequences net;
  net.init_parameters();
  std::vector<std::uint64_t> state(64);
  Executor executor(PredictRows::program);
  const auto run = [&](long n, std::uint64_t values) {
    const Rows x = rows(int(n), n);
    executor.bind(ParameterList(net).base(), reinterpret_cast<std::byte*>(state.data()), values);
    const void* inputs[]{x.data()};
    executor.run(inputs, n);
    return executor.keeps();
  };
  CHECK(!run(1, 1));
  CHECK(run(1, 1));
  CHECK(run(12, 1));
  CHECK(!run(17, 1));  // nothing is kept
  CHECK(run(2, 1));
  CHECK(!run(13, 1));  // one operand, which stands elsewhere
  CHECK(run(13, 1));
  CHECK(run(16, 1));
  CHECK(!run(2, 1));
  CHECK(run(2, 1));
  CHECK(!run(3, 2));
  CHECK(!run(4, 2));
  CHECK(run(4, 2));
  CHECK(!run(4, 0));
  CHECK(!run(5, 0));
  CHECK(!run(5, 3));
  CHECK(run(5, 3));
}

TEST_CASE("kept rows: rows of sequences have the bits of PyNative mode, whatever came before") {
  for (const int threads : {1, 2}) {
    const ContextScope scope({.num_threads = threads});
    Sequences net;
    Model model{net};
    for (int round = 0; round < 2; ++round) {
      for (const long n : {1, 1, 2, 12, 13, 13, 1, 16, 17, 2, 2, 0, 3}) {
        CAPTURE(n);
        const Rows x = rows(int(n) + 50, n);
        const auto wanted = expected_rows(net, x);
        CHECK(bit_equal(model.predict(x), wanted));
        CHECK(bit_equal(net(x), wanted));
      }
      net.parameters_dict()["up.weight"].set_data(random_tensor<float, Shape<300, 70>>(60 + threads, -0.2, 0.2).view());
    }
  }
}

TEST_CASE("kept rows: NaN and infinity of a row stay in it, those of a weight go to all rows") {
  Sequences net;
  Model model{net};
  Rows x = rows(70, 2);
  const auto before = model.predict(x);
  x.values()[5] = std::numeric_limits<float>::quiet_NaN();
  x.values()[75] = std::numeric_limits<float>::infinity();
  for (int call = 0; call < 3; ++call) {
    const auto y = model.predict(x);
    for (std::size_t k = 0; k < y.values().size(); ++k)
      CHECK((k / 48 < 2 ? std::isnan(y.values()[k]) : y.values()[k] == before.values()[k]));
  }
  net.parameters_dict()["up.weight"].values<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  for (const float y : model.predict(x).values()) CHECK(std::isnan(y));
}

TEST_CASE("kept rows: parts of a network that lie in its memory") {
  Twice net;
  net.init_parameters();
  const Rows x = rows(80, 1);
  for (int round = 0; round < 3; ++round)
    for (const Sequences* part : {&net.first, &net.second})
      for (int call = 0; call < 1 + round; ++call) CHECK(bit_equal((*part)(x), expected_rows(*part, x)));
}
