// label: long
// A GPT with two blocks on the target Cuda: weights and losses of trainings in 32 and in 16 bits are the CPU's.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../../../benchmarks/models/gpt.hpp"
#include "trained.hpp"

using namespace tenon;

namespace {
constexpr int length = 64;
using Gpt = models::Gpt<2, length, 128, 4, 65>;
auto texts() {
  std::vector<std::int32_t> x(5 * length), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = int(i * i % 65), y[i] = int((i + 1) * (i + 1) % 65);
  return dataset::from_arrays(dataset::column<Shape<length>>(x), dataset::column<Shape<length>>(y)) | dataset::batch(2);
}
}  // namespace

TEST_CASE("GPT") { cuda_test::check_trained<Gpt>(2, 6, texts(), nn::Adam{.learning_rate = 1e-3f}); }
TEST_CASE("GPT in bfloat16") {
  cuda_test::check_trained<Gpt>(2, 6, texts(), nn::Adam{.learning_rate = 1e-3f}, amp<AmpLevel::O2>);
}
