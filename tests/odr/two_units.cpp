// flags: -O2 -march=x86-64
// only: x86_64 AMD64
// Units with other instruction sets, linked together, keep each its own kernels: the inline namespace tells them apart.
// Units with other modes train in one program.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string_view>

#include "../support/skip.hpp"
#include "two_units.hpp"

namespace {
bool has_avx2() {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return true;
  support::say_skipped("this processor has no AVX2");
  return false;
}
void check_learned(const Training& training) {
  REQUIRE(training.losses.size() == 40);
  CHECK(training.losses.back() < training.losses.front() / 2);
}
}  // namespace

TEST_CASE("each unit runs the code that was compiled with its own flags") {
  CHECK(this_unit().register_bytes == 16);
  CHECK(unit_for_base().register_bytes == 16);
  if (has_avx2()) CHECK(unit_for_avx2().register_bytes == 32);
}

TEST_CASE("other instruction set: the linker keeps both functions, both instantiations, both types") {
  if (!has_avx2()) return;
  const Unit base = this_unit(), avx2 = unit_for_avx2();
  CHECK((base.function != avx2.function));
  CHECK((base.text != avx2.text));
  CHECK(std::string_view(base.shape) != std::string_view(avx2.shape));
  CHECK(std::string_view(base.shape).find("v01_1") != std::string_view::npos);
  CHECK(std::string_view(avx2.shape).find("v01_3") != std::string_view::npos);
}

TEST_CASE("same instruction set: the units share everything") {
  const Unit one = this_unit(), other = unit_for_base();
  CHECK((one.function == other.function));
  CHECK((one.text == other.text));
  CHECK(std::string_view(one.shape) == std::string_view(other.shape));
}

TEST_CASE("units that are pinned to one mode, and units with both, train in one program, and end with equal bits") {
  const Training graph = train_in_graph_unit();
  check_learned(graph);
  CHECK((train_in_pynative_unit().weights == graph.weights));
  for (const InMode mode : both_modes) {
    CAPTURE(int(mode));
    CHECK((train_in_base_unit(mode).weights == graph.weights));
    CHECK((train_in_o3_unit(mode).weights == graph.weights));  // nor does the optimizer of the compiler change a bit
  }
}

TEST_CASE("a unit with another instruction set trains beside them, with equal bits in its two modes") {
  if (!has_avx2()) return;
  const Training graph = train_in_avx2_unit(InMode::graph), base = train_in_graph_unit();
  check_learned(graph);
  CHECK((train_in_avx2_unit(InMode::pynative).weights == graph.weights));
  for (std::size_t i = 0; i < graph.losses.size(); ++i)
    CHECK(graph.losses[i] == doctest::Approx(base.losses[i]).epsilon(1e-3));
}
