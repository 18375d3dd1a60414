#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/jit.hpp>
#include <tenon/ops/relu.hpp>

#include "../support/tensors.hpp"

using namespace tenon;

namespace {
using Rows4 = TypeKey<Dtype::float32, dyn, 4>;
using Rows5 = TypeKey<Dtype::float32, dyn, 5>;

constexpr auto chain = [](auto x, auto y) {
  return relu((identity(x) + y) * 1.0f) * (2.0f + 0.5f) + relu((identity(x) + y) * 1.0f);
};
using Whole = Compiled<tenon::detail::FunctionGraph<decltype(chain), Rows4, Rows4>>;
using Plain = Compiled<tenon::detail::FunctionGraph<decltype(chain), Rows4, Rows4>, no_passes>;
template <Passes passes>
using With = Compiled<tenon::detail::FunctionGraph<decltype(chain), Rows4, Rows4>, passes>;

constexpr auto sum = [](auto x, auto y) { return x + y; };
using Broken1 = Compiled<tenon::detail::FunctionGraph<decltype(sum), Rows4, Rows5>>;

struct TooManyOutputs {
  [[maybe_unused]] static constexpr const Entry* entries = nullptr;
  static constexpr Builder trace() {
    Builder b;
    for (int i = 0; i < max_outputs + 1; ++i) b.outputs.push_back(b.constant(Dtype::float32, i));
    return b;
  }
};
}  // namespace

TEST_CASE("every pass has its effect, and none of them when switched off") {
  static_assert(Whole::ok && Plain::ok);
  CHECK(Whole::program.instructions == 2);  // relu(x + y), used twice, and one kernel of what follows
  CHECK(Plain::program.instructions == 10);
  CHECK(With<Passes{.fuse = false}>::program.instructions == 4);
  // copies and products with 1 are fused, too
  CHECK(With<Passes{.simplify = false}>::graph.count > Whole::graph.count);
  CHECK(With<Passes{.share = false}>::program.instructions == 1);  // nothing is used twice, so all is one kernel
}

TEST_CASE("the memory of a program is known to the compiler") {
  static_assert(Whole::program.bytes(1, 1) == 64);  // the second kernel writes over what it reads
  static_assert(Whole::program.bytes(100, 1) == 100 * 64);
  static_assert(With<Passes{.in_place = false}>::program.bytes(1, 1) == 2 * 64);
  static_assert(Whole::program.workspace(7) == 0);
  static_assert(Plain::program.bytes(1, 1) >= Whole::program.bytes(1, 1));
}

TEST_CASE("constants are stored in their dtype") {
  for (std::uint64_t bytes : {std::bit_cast<std::uint32_t>(2.5f)}) {
    bool found = false;
    for (int id = 0, at = 0; id < Whole::graph.count; ++id)
      if (is<ops::Constant>(Whole::graph[id])) found |= Whole::constants.bytes[at++] == bytes;
    CHECK(found);
  }
  CHECK(constant_bytes(Dtype::float64, 0.1) == std::bit_cast<std::uint64_t>(0.1));
  CHECK(constant_bytes(Dtype::float16, 1) == 0x3c00);
  CHECK(constant_bytes(Dtype::bfloat16, 1) == 0x3f80);
  CHECK(constant_bytes(Dtype::int8, -1) == ~std::uint64_t{0});
  CHECK(constant_bytes(Dtype::bool_, 0.5) == 1);
  CHECK(constant_bytes(Dtype::uint64, 1e19) == 10000000000000000000ull);
}

TEST_CASE("an error of the trace is a sentence, not a failure to compile") {
  static_assert(!Broken1::ok);
  CHECK(Broken1::sentence.view().find("[n,4] and [n,5]") != std::string_view::npos);
  static_assert(!Compiled<TooManyOutputs>::ok);
  CHECK(Compiled<TooManyOutputs>::sentence.view() ==
        "a graph has at most 64 outputs, this one 65: return fewer values");
}
