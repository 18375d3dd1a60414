#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/reshape.hpp>

using namespace tenon;

namespace {
constexpr TensorType rows{{dyn, 3}, 2, Dtype::float16}, doubled{{times<2>, 3, 4, 5, 6, 7}, 6, Dtype::int64},
    number{{}, 0, Dtype::bool_};
constexpr TensorType operand_types[]{rows, doubled, number};
constexpr int program[]{11, 22, 33, 44};
}  // namespace

TEST_CASE("a kernel's key unpacks to what went in") {
  constexpr Attributes attributes{{0, -5, 0, 7}};
  constexpr KernelKey key = kernel_key(&info<ops::MatMul>, doubled, operand_types, 3, attributes, program, 2);
  constexpr Description d = describe(key.word);
  static_assert(d.operands == 3);
  CHECK(d.result == doubled);
  for (int k = 0; k < 3; ++k) CHECK(d.operand[k] == operand_types[k]);
  CHECK(d.attributes == attributes);
  CHECK(key.op() == ops::MatMul::id);
  CHECK(key.update() == 0);
  REQUIRE(key.steps() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(key.step_op(i) == program[2 * i]);
    CHECK(key.step_sources(i) == program[2 * i + 1]);
  }
}

TEST_CASE("the largest key fits") {
  TensorType operands[max_operands];
  for (TensorType& t : operands) t = doubled;
  Attributes attributes;
  for (int& word : attributes.word) word = -1;
  std::vector<int> steps(2 * max_steps, 1);
  const KernelKey key =
      kernel_key(&info<ops::MatMul>, doubled, operands, max_operands, attributes, steps.data(), max_steps);
  CHECK(key.length <= KernelKey::capacity);
  const Description d = describe(key.word);
  CHECK(d.operands == max_operands);
  CHECK(d.attributes == attributes);
  CHECK(key.steps() == max_steps);
  CHECK(key.step_sources(max_steps - 1) == 1);
}

namespace {
/// Its key as a Key of CallOf.
template <class Op, int steps, Attributes attributes = Attributes{}>
struct KeyWith {
  static constexpr int of_steps[]{ops::Relu::id, 256, ops::Mul::id, 512};
  static constexpr KernelKey value = kernel_key(&info<Op>, rows, operand_types, 2, attributes, of_steps, steps);
};
}  // namespace

TEST_CASE("a kernel's type has the types of its operators, and no id of one") {
  constexpr Attributes update{{1, ops::ApplyMomentum::id, 7}}, same_without{{1, 0, 7}};
  using Alone = CallOf<KeyWith<ops::MatMul, 0>>;
  constexpr int in_rows = 2 * 16 + int(Dtype::float16), in_doubled = 6 * 16 + int(Dtype::int64);
  static_assert(
      std::is_same_v<
          Alone, Call<ops::MatMul, void, 2, in_rows, dyn, 3, in_rows, dyn, 3, in_doubled, times<2>, 3, 4, 5, 6, 7>>);
  static_assert(Alone::steps == 0);
  using WithSteps = CallOf<KeyWith<ops::MatMul, 2>>;
  static_assert(std::is_same_v<WithSteps::Joined, Steps<Operators<ops::Relu, ops::Mul>, 256, 512>>);
  static_assert(WithSteps::steps == 2 && WithSteps::Joined::at(1).op == ops::Mul::id);
  using WithUpdate = CallOf<KeyWith<ops::ProductUpdate, 0, update>>;
  static_assert(std::is_same_v<WithUpdate::Joined, ops::ApplyMomentum>);
  static_assert(WithUpdate::config().update == 0 && WithUpdate::config().setting[0] == 7);
  // no key knows another operator's word
  static_assert(CallOf<KeyWith<ops::MatMul, 0, update>>::description.attributes == update);
  CHECK(KeyWith<ops::ProductUpdate, 0, update>::value.hash() !=
        KeyWith<ops::ProductUpdate, 0, same_without>::value.hash());
}

TEST_CASE("keys differ where kernels differ") {
  const auto key = [](const TensorType& result, int operands, const Attributes& a, int steps) {
    return kernel_key(&info<ops::MatMul>, result, operand_types, operands, a, program, steps).hash();
  };
  const std::uint64_t base = key(rows, 2, {}, 1);
  CHECK(base == key(rows, 2, {}, 1));
  CHECK(base != key(rows.with(Dtype::float32), 2, {}, 1));
  CHECK(base != key(rows, 3, {}, 1));
  CHECK(base != key(rows, 2, {{1}}, 1));
  CHECK(base != key(rows, 2, {}, 2));
  CHECK(base != kernel_key(&info<ops::Reshape>, rows, operand_types, 2, {}, program, 1).hash());
}

TEST_CASE("settings of an operator survive packing") {
  struct Config {
    int a = 1;
    float b = -0.5f;
    enum Kind : int { first, second } kind = second;
  };
  constexpr Config c = unpack<Config>(pack(Config{7, 2.5f, Config::first}));
  static_assert(c.a == 7 && c.b == 2.5f && c.kind == Config::first);
}

TEST_CASE("items are computed once each, whatever the number of threads, with workspaces apart") {
  static std::atomic<int> computed[1000];
  static std::atomic<long> wrong;
  static constexpr KernelEntry entry{.run =
                                         [](const Arguments& a, long begin, long end) {
                                           for (long i = begin; i < end; ++i) {
                                             a.workspace[0] = std::byte(i);
                                             ++computed[i];
                                             if (a.workspace[0] != std::byte(i)) ++wrong;
                                           }
                                         },
                                     .work_of = [](long n) { return KernelWork{n, 100L * cost_per_thread, 64}; },
                                     .is_linear = false};
  for (int threads : {1, 2, 3}) {
    const ContextScope scope({.num_threads = threads});
    for (long n : {0, 1, 2, 999}) {
      for (auto& c : computed) c = 0;
      wrong = 0;
      Arguments a;
      a.n = n;
      launch(entry, a);
      for (long i = 0; i < 1000; ++i) CHECK(computed[i] == (i < n ? 1 : 0));
      CHECK(wrong == 0);
    }
  }
}

namespace {
template <int a, int b, class Op, int... Extents>
struct KeyOnRowsOf {
  static constexpr TensorType result{{a, b, 5}, 3}, operand[]{{{a, b, 3}, 3}, {{Extents...}, sizeof...(Extents)}};
  static constexpr KernelKey value = kernel_key(&info<Op>, result, operand, 2, Attributes{});
};
template <int a, int b, class Op, int... Extents>
constexpr const KernelEntry& entry_of = kernel_entry<CallOf<KeyOnRowsOf<a, b, Op, Extents...>>>;
}  // namespace

TEST_CASE("calls that differ in the number of rows share a kernel") {
  const KernelEntry &few = entry_of<dyn, 32, ops::MatMul, 3, 5>, &many = entry_of<times<2>, 64, ops::MatMul, 3, 5>;
  CHECK((few.run == many.run));
  CHECK(few.rows == 32);
  CHECK(many.rows == 128);
  CHECK(many.work(3).items == few.work(12).items);
  // one matrix for each sample
  const KernelEntry& stack = entry_of<dyn, 32, ops::MatMul, dyn, 3, 5>;
  CHECK((stack.run != few.run));
  CHECK(stack.rows == 1);
}

TEST_CASE("a launch without memory for its workspace runs nothing") {
  static int effects;
  static constexpr KernelEntry entry{.run = [](const Arguments&, long, long) { ++effects; },
                                     .work_of = [](long n) { return KernelWork{n, 1, 1L << 40}; },
                                     .is_linear = false};
  effects = 0;
  const ContextScope scope({.num_threads = 3, .max_device_memory = "1GB"});
  Arguments a;
  a.n = 100;
  CHECK_THROWS_WITH_AS(launch(entry, a), doctest::Contains("were asked for the workspace of a kernel"), OutOfMemory);
  CHECK(effects == 0);
}

TEST_CASE("without memory for the workspaces of all threads fewer parts run: each item once, workspaces apart") {
  static std::atomic<int> computed[300];
  static std::atomic<int> parts, inside, most_inside;
  static std::atomic<bool> aligned;
  static constexpr long bytes = 100 << 20;
  static constexpr KernelEntry entry{.run =
                                         [](const Arguments& a, long begin, long end) {
                                           ++parts;
                                           const int now = ++inside;
                                           for (int most = most_inside; most < now;)
                                             most_inside.compare_exchange_weak(most, now);
                                           if (reinterpret_cast<std::uintptr_t>(a.workspace) % 64) aligned = false;
                                           a.workspace[0] = a.workspace[bytes - 1] = std::byte(1);
                                           for (long i = begin; i < end; ++i) ++computed[i];
                                           --inside;
                                         },
                                     .work_of = [](long n) { return KernelWork{n, 100L * cost_per_thread, bytes}; },
                                     .is_linear = false};
  // room for the workspaces, threads, and the parts that they then run
  for (const auto& [room, threads, expected] : {std::tuple{4, 3, 3}, {2, 4, 2}, {1, 4, 1}, {1, 3, 1}}) {
    CAPTURE(room);
    std::thread([room = room, threads = threads] {  // one that has kept no block
      for (auto& c : computed) c = 0;
      parts = most_inside = 0;
      aligned = true;
      const ContextScope scope({.num_threads = threads});
      const long limit = detail::memory_limit().exchange(detail::memory_in_use() + room * (bytes + (30 << 20)));
      Arguments a;
      a.n = 300;
      launch(entry, a);
      detail::memory_limit() = limit;
    })
        .join();
    for (const auto& c : computed) CHECK(c == 1);
    CHECK(parts == expected);
    CHECK(most_inside <= expected);
    CHECK(aligned);
  }
}
