// Math::tf32 on the target Cuda: convolutions and their gradients by cuDNN, near the exact ones, the same in each run.
// label: long
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "fast.hpp"

using namespace fast_test;

namespace {
/// x [n, c, h, w] convolved with o kernels of kh x kw, and both gradients. `calls`: how many cuDNN computes.
template <Conv2dOptions options, class T, int c, int h, int w, int o, int kh, int kw = kh>
void check(long n, int digits, [[maybe_unused]] int calls) {
  const AnySize any;
  const auto f = [](const auto& x, const auto& k) { return conv2d<options>(x, k); };
  const auto x = random_tensor<T, Shape<dyn, c, h, w>>(1, -2, 2, n);
  const auto k = random_tensor<T, Shape<o, c / options.groups, kh, kw>>(2);
  const auto run = [&](const ContextChange& change) {
    const ContextScope scope(change);
    return support::detail::run_eager(f, std::make_index_sequence<2>(), x, k);
  };
#if defined(TENON_CUDA_EMULATOR)
  const std::size_t before = emulator::dnn_calls.size();
#endif
  const auto exact = run({});
  const auto there = run(fast);
  const auto again = run(fast);
#if defined(TENON_CUDA_EMULATOR)
  CHECK(emulator::dnn_calls.size() == before + std::size_t(2 * calls));
#endif
  const auto compare = [&](const auto& a, const auto& b, const auto& c_) {
    CHECK(same_bits(a, b));
    if (calls == 0) CHECK(same_bits(a, c_));
    else if constexpr (sizeof *a.data() == 4 && must_round<Tensor<T, Shape<c, o>>>()) CHECK(!same_bits(a, c_));
    double worst = 0, largest = 0;
    for (long i = 0; i < a.count(); ++i) {
      worst = std::max(worst, std::abs(double(a.data()[i]) - double(c_.data()[i])));
      largest = std::max(largest, std::abs(double(c_.data()[i])));
    }
    CHECK(worst < std::ldexp(largest, 2 - digits));
  };
  compare(there.result, again.result, exact.result);
  compare(std::get<0>(there.gradient), std::get<0>(again.gradient), std::get<0>(exact.gradient));
  compare(std::get<1>(there.gradient), std::get<1>(again.gradient), std::get<1>(exact.gradient));
}
constexpr Conv2dOptions valid{.pad_mode = PadMode::valid};
}  // namespace

TEST_CASE("convolutions and both gradients, direct ones and by Winograd, in float32 and 16 bits") {
  check<Conv2dOptions{}, float, 3, 9, 11, 6, 5>(3, 11, 3);
  check<valid, float, 6, 14, 14, 5, 5>(2, 11, 3);
  check<Conv2dOptions{}, float, 32, 8, 8, 33, 3>(2, 11, 3);
  check<Conv2dOptions{}, float, 32, 16, 16, 64, 3>(4, 11, 3);
  check<Conv2dOptions{}, bfloat16, 6, 9, 8, 4, 3>(3, 8, 3);
  check<Conv2dOptions{}, float16, 6, 9, 8, 4, 3>(3, 11, 3);
}

TEST_CASE("strides, dilations, groups, pads on one side that the stride leaves out") {
  check<Conv2dOptions{.stride = {2, 1}, .pad_mode = PadMode::same}, float, 2, 9, 7, 3, 3>(2, 11, 3);
  check<Conv2dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = {1, 1, 1, 1}, .dilation = 2}, float, 2, 9, 9, 3,
        3>(2, 11, 3);
  check<Conv2dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = {1, 1, 1, 1}}, float, 2, 8, 8, 3, 3>(2, 11, 3);
  check<Conv2dOptions{.groups = 2}, float, 4, 6, 7, 6, 3>(2, 11, 3);
}

TEST_CASE("what cuDNN does not compute is exact: uneven pads, other dtypes") {
  check<Conv2dOptions{.stride = 2}, float, 2, 8, 8, 3, 3>(2, 11, 0);
  check<Conv2dOptions{.pad_mode = PadMode::pad, .padding = {1, 0, 2, 3}}, float, 2, 9, 8, 3, 3>(2, 11, 0);
  check<Conv2dOptions{}, double, 2, 8, 8, 3, 3>(2, 11, 0);
}

TEST_CASE("trainings: a bias, batch normalization, relu, additions around layers") {
  check_training<support::LeNet>(target_test::images<1, 28, 28>(10, 4, 10), 0.002f);
  check_training<support::SmallResNet>(target_test::images<3, 8, 8>(10, 4, 5),
                                       0.0001f);  // the last batch has two samples
}

#if defined(TENON_CUDA_EMULATOR)  // hardware does not fail when it is told to
TEST_CASE("what cuDNN says that it does not compute is exact: images that are too large, shapes without an algorithm") {
  const long most = std::exchange(emulator::dnn_most_elements, 400);
  check<Conv2dOptions{}, float, 2, 11, 13, 3, 3>(2, 11, 0);  // 572 elements, and 858 of the result
  check<valid, float, 3, 7, 9, 2, 3>(2, 11, 3);
  emulator::dnn_most_elements = most;
  const int planes = std::exchange(emulator::dnn_unknown_planes, 7);
  check<Conv2dOptions{}, float, 7, 5, 6, 3, 3>(2, 11, 0);
  emulator::dnn_unknown_planes = planes;
}

TEST_CASE("every function of cuDNN fails once: an exception, and the next convolution is right") {
  const AnySize any;
  std::vector<std::string> names;
  for (const auto& [name, function] : emulator::library_functions()["libcudnn.so.9"])
    if (name != "cudnnGetErrorString") names.push_back(name);
  CHECK(names.size() == 16);
  long n = 3;
  const auto x = [&] { return random_tensor<float, Shape<dyn, 2, 5, 5>>(1, -2, 2, n); };
  const auto k = random_tensor<float, Shape<3, 2, 3, 3>>(2);
  const auto run = [&] {
    const ContextScope scope(fast);
    const auto result = support::detail::run_eager(
        [](const auto& image, const auto& weight) { return conv2d<Conv2dOptions{}>(image, weight); },
        std::make_index_sequence<2>(), x(), k);
    result.result.data();
  };
  for (const std::string& name : names) {
    if (name == "cudnnCreate") continue;  // once for each GPU
    ++n;                                  // sizes that were not there yet
    emulator::failing_function = name;
    const std::string message = message_of(run);
    emulator::failing_function.clear();
    const bool finds = name.find("Algorithm_v7") != name.npos;
    CHECK(has(message,
              ((finds ? "the choice of an algorithm" : name) + " of cuDNN failed: an emulated failure").c_str()));
    CHECK(message_of(run).empty());
  }
}
#endif
