// Pooling at many settings: against plain loops, gradients against central differences, both modes against each other.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/core/tensor/compare.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {

// Calls visit(result element, real elements of its window, places of the window that count in a mean).
template <Pool2dOptions o, class X, class Y, class F>
void for_each_window(const X& x, const Y& y, F visit) {
  const long h = x.extent(2), w = x.extent(3), oh = y.extent(2), ow = y.extent(3);
  const int sh = o.stride.h ? o.stride.h : o.kernel.h, sw = o.stride.w ? o.stride.w : o.kernel.w;
  const auto before = [](long size, int window, int stride, int given) -> long {
    if (o.pad_mode == PadMode::pad) return given;
    if (o.pad_mode == PadMode::valid) return 0;
    const long total = ((size + stride - 1) / stride - 1) * stride + window - size;
    return total > 0 ? total / 2 : 0;
  };
  const long top = before(h, o.kernel.h, sh, o.padding.top), left = before(w, o.kernel.w, sw, o.padding.left);
  for (long i = 0; i < y.count(); ++i) {
    std::vector<double> inside;
    long places = 0;
    for (long a = 0; a < o.kernel.h; ++a)
      for (long b = 0; b < o.kernel.w; ++b) {
        const long r = i / ow % oh * sh - top + a, c = i % ow * sw - left + b;
        const bool real = r >= 0 && r < h && c >= 0 && c < w;
        if (real) inside.push_back(x.data()[(i / (oh * ow) * h + r) * w + c]);
        places += real || (o.pad_mode == PadMode::pad && o.count_include_pad && r < h + o.padding.bottom &&
                           c < w + o.padding.right);
      }
    visit(y.data()[i], inside, places);
  }
}

template <Pool2dOptions options, class S>
void check_pools(long n = 2) {
  const auto x = random_tensor<double, S>(5, -2, 2, n);
  const auto max = [](const auto& v) { return max_pool2d<options>(v); };
  const auto avg = [](const auto& v) { return avg_pool2d<options>(v); };
  bool right = true;
  for_each_window<options>(x, both_modes(max, x).result, [&](double found, const std::vector<double>& inside, long) {
    double largest = inside.at(0);
    for (double v : inside) largest = std::fmax(largest, v);
    right &= found == largest;
  });
  CHECK(right);
  double worst = 0;
  for_each_window<options>(x, both_modes(avg, x).result,
                           [&](double found, const std::vector<double>& inside, long places) {
                             double sum = 0;
                             for (double v : inside) sum += v;
                             worst = std::fmax(worst, std::fabs(found - sum / double(places)));
                           });
  CHECK(worst < 1e-13);
  check_gradients(max, x);
  check_gradients(avg, x);
}

}  // namespace

TEST_CASE("windows side by side, overlapping, with gaps") {
  check_pools<Pool2dOptions{.kernel = 2}, Shape<dyn, 2, 4, 6>>();
  check_pools<Pool2dOptions{.kernel = 3, .stride = 1}, Shape<dyn, 1, 4, 5>>(3);
  check_pools<Pool2dOptions{.kernel = {1, 2}, .stride = {2, 3}}, Shape<2, 2, 5, 6>>();
  check_pools<Pool2dOptions{.kernel = {4, 6}}, Shape<dyn, 2, 4, 6>>();
}

TEST_CASE("padding") {
  check_pools<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::same}, Shape<dyn, 2, 5, 6>>();
  check_pools<Pool2dOptions{.kernel = 2, .stride = 2, .pad_mode = PadMode::same}, Shape<1, 2, 3, 3>>();
  check_pools<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = {1, 1, 0, 1}},
              Shape<dyn, 2, 5, 4>>();
  check_pools<Pool2dOptions{
                  .kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1, .count_include_pad = false},
              Shape<dyn, 2, 5, 4>>();
}

TEST_CASE("short rows, for which 16 planes go together: the bits of any number of threads and of one plane alone") {
  static constexpr Pool2dOptions options{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = {1, 0, 1, 0}};
  const auto check = [](auto f) {
    const auto x = random_tensor<float, Shape<dyn, 40, 9, 7>>(3, -2, 2, 33);
    const auto expected = both_modes(f, x);
    // one channel alone has planes too few for a block
    const auto plane = Tensor<float, Shape<1, 1, 9, 7>>::from(std::vector<float>(x.data(), x.data() + 63));
    const auto alone = both_modes(f, plane);
    for (long i = 0; i < alone.result.count(); ++i) CHECK(alone.result.data()[i] == expected.result.data()[i]);
    for (const int threads : {1, 2, 3}) {
      const ContextScope scope({.num_threads = threads});
      const auto found = both_modes(f, x);
      CHECK(bit_equal(found.result, expected.result));
      CHECK(bit_equal(std::get<0>(found.gradient), std::get<0>(expected.gradient)));
    }
  };
  check([](const auto& v) { return max_pool2d<options>(v); });
  check([](const auto& v) { return avg_pool2d<options>(v); });
}

TEST_CASE("of equal elements the first in a window gets the gradient") {
  const auto x = tensor_of<float, Shape<1, 1, 2, 4>>({1, 1, -5, -5, 1, 1, -5, -5});
  const auto gradient = std::get<0>(both_modes([](const auto& v) { return max_pool2d<2>(v); }, x).gradient);
  CHECK(gradient.data()[0] != 0);
  CHECK(gradient.data()[2] != 0);
  for (long i : {1, 3, 4, 5, 6, 7}) CHECK(gradient.data()[i] == 0);
}

TEST_CASE("images of more bytes than an int counts, here none of them, have kernels") {
  const auto x = Tensor<float, Shape<dyn, 1, 8192, 8192>>::full(1, 0);
  both_modes([](const auto& image) { return relu(max_pool2d<2>(relu(image))); }, x);
  both_modes([](const auto& image) { return avg_pool2d<2>(image); }, x);
}

TEST_CASE("what does not fit is said in one sentence") {
  const TensorType flat = type_of<float, Shape<dyn, 784>>, small = type_of<float, Shape<dyn, 1, 2, 2>>;
  CHECK(refusal<ops::MaxPool2d>({}, {flat}) == "MaxPool2d needs an input [n,C,H,W] of rank 4, got [n,784]");
  CHECK(refusal<ops::AvgPool2d>(ops::detail::pool_attributes({.kernel = 3}, small), {small}) ==
        "AvgPool2d got an input [n,1,2,2] smaller than its window [3,3]");
  const auto padded = [&](Padding padding) {
    return refusal<ops::MaxPool2d>(
        ops::detail::pool_attributes({.kernel = 2, .stride = 1, .pad_mode = PadMode::pad, .padding = padding}, small),
        {small});
  };
  const std::string whole =
      "MaxPool2d got a padding of the size of its window [2,2]: windows in the padding alone have no element; pad by "
      "less";
  CHECK(padded(2) == whole);
  CHECK(padded(Padding(0, 2, 0, 0)) == whole);
  CHECK(padded(Padding(1, 1, 0, 2)) == whole);
  CHECK(padded(1) == "");
}
