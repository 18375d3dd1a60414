// flags: -mamx-tile -mamx-bf16
// only: x86_64 AMD64
// Products of bfloat16 by AMX: all that gemm.cpp says of products, in the order of the tiles, which are emulated where
// the processor or the system has none; and the same program where they are refused.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS  // illegal instructions are for the emulator
#include <doctest/doctest.h>

#include "../../../support/amx_emulator.hpp"

#if !defined(TENON_HAS_AMX)
int main() {
  support::say_skipped("products by AMX: they are compiled for processors with AVX-512");
  return 77;
}
#else
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <typeinfo>

#include "gemm.cpp"

namespace {
using kernel::detail::AmxPermission;
bool is_real;  // not emulated

bool processor_has_amx() {
  std::ifstream file("/proc/cpuinfo");
  std::stringstream text;
  text << file.rdbuf();
  return text.str().find(" amx_bf16") != std::string::npos;
}

// What happens if the system says no, until the end of the scope.
class Refusal {
 public:
  Refusal() { kernel::detail::amx_permission = AmxPermission::refused; }
  ~Refusal() { kernel::detail::amx_permission = AmxPermission::granted; }
};

std::vector<bfloat16> product(long m, long n, long k, int form, std::uint64_t seed) {
  Random random(seed);
  const auto a = reference::numbers<bfloat16>(m * k, random), b = reference::numbers<bfloat16>(k * n, random);
  std::vector<bfloat16> c(static_cast<std::size_t>(m * n));
  const Gemm<bfloat16> g{
      m, n, k, a.data(), form & 1 ? 1 : k, form & 1 ? m : 1, b.data(), form & 2 ? 1 : n, form & 2 ? k : 1, c.data(), n};
  reference::Workspace workspace(kernel::gemm_workspace(g));
  kernel::gemm(g, 0, kernel::gemm_items(g), workspace.data());
  return c;
}
}  // namespace

TEST_CASE("AMX: permission is what the system says, and is not asked for before a product of bfloat16") {
  const std::string_view name = typeid(Gemm<bfloat16>).name(), tag = name.substr(name.find("v01_") + 4);
  const std::string_view extensions = tag.substr(1, tag.find_first_of("GC") - 1);  // behind the level (core/abi.hpp)
  CHECK(extensions.find('5') != std::string_view::npos);
  kernel::detail::amx_permission = AmxPermission::not_asked;
  check<float>(40, 50, 60, 0, 0, 1);
  check<float16>(40, 50, 60, 0, 0, 1);
  CHECK((kernel::detail::amx_permission == AmxPermission::not_asked));
  CHECK(kernel::amx_permitted() == is_real);
  if (is_real) CHECK(processor_has_amx());
  kernel::detail::amx_permission = AmxPermission::granted;
}

TEST_CASE("AMX: random shapes, in tiles and where they are refused") {
  random_shapes<bfloat16>(60, 90, 31);
  random_shapes<bfloat16>(12, 300, 32);
  const Refusal refusal;
  random_shapes<bfloat16>(60, 90, 33);
  check<bfloat16>(1, 77, 2045, 2, 3, 19);
}

TEST_CASE("AMX: sizes around the borders of tiles, of groups of steps, and of blocks") {
  for (const long rows : {1L, 15L, 16L, 17L, 32L, 33L, 48L})
    for (const long columns : {1L, 16L, 17L, 32L, 49L})
      for (int form = 0; form < 4; ++form)
        for (const long k : {1L, 31L, 32L, 33L, 64L}) check<bfloat16>(rows, columns, k, form, form % 2, 34);
  for (int form = 0; form < 4; ++form) {
    check<bfloat16>(70, 150, 2048, form, 0, 35);
    check<bfloat16>(70, 150, 2112, form, 0, 36);
    check<bfloat16>(1040, 33, 40, form, 0, 37);
    check<bfloat16>(20, 1030, 64, form, 2, 38);
    check<bfloat16>(64, 784, 300, form, 0, 39);  // cheaper as its transpose, which takes several blocks
  }
  check<bfloat16>(600, 384, 2080, 3, 0, 40);  // the same, of sums that are resumed
}

TEST_CASE("AMX: a sum that tells the order of the tiles from the order without them") {
  const std::vector<bfloat16> a(4, 1.0f), b{0x1p60f, 1.0f, -0x1p60f, 0.0f};
  bfloat16 c;
  const Gemm<bfloat16> g{1, 1, 4, a.data(), 4, 1, b.data(), 1, 1, &c, 1};
  const auto sum = [&] {
    reference::Workspace workspace(kernel::gemm_workspace(g));
    kernel::gemm(g, 0, kernel::gemm_items(g), workspace.data());
    return float(c);
  };
  CHECK(sum() == 1);  // the large ones are both in the chain of even steps
  const Refusal refusal;
  CHECK(sum() == 0);
}

TEST_CASE("AMX: each thread shapes and releases its own tiles, and a product takes one load") {
  if (is_real) return;  // the processor does not count
  support::AmxEmulator::count() = {};
  product(256, 256, 256, 0, 40);
  const auto here = support::AmxEmulator::count();
  CHECK(here.products == 16 * 16 * 8);
  CHECK(here.loads == here.products);
  CHECK(here.stores == 16 * 16);
  CHECK(here.configurations >= 1);
  CHECK(here.releases >= 1);
  CHECK(support::AmxEmulator::released());
  std::thread([] {
    product(40, 50, 70, 0, 41);
    CHECK(support::AmxEmulator::count().products > 0);
    CHECK(support::AmxEmulator::released());
  }).join();
  const auto after = support::AmxEmulator::count();
  CHECK(after.products == here.products);
}

int main(int argc, char** argv) {
  is_real = support::use_amx();
  return doctest::Context(argc, argv).run();
}
#endif
