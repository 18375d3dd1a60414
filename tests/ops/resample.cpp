// Elements at other places: roll, borders, tiles, windows, other sizes of images; their gradients, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("roll: both directions, every axis, more than a turn, and along n") {
  const auto x = tensor_of<float, Shape<dyn, 3>>({1, 2, 3, 4, 5, 6});
  CHECK(same_bits(both_modes([](const auto& v) { return roll<1, -1>(v); }, x).result,
                  tensor_of<float, Shape<dyn, 3>>({3, 1, 2, 6, 4, 5})));
  CHECK(same_bits(both_modes([](const auto& v) { return roll<-4, 1>(v); }, x).result,
                  tensor_of<float, Shape<dyn, 3>>({2, 3, 1, 5, 6, 4})));
  CHECK(same_bits(both_modes([](const auto& v) { return roll<3, 0>(v); }, x).result,
                  tensor_of<float, Shape<dyn, 3>>({4, 5, 6, 1, 2, 3})));
  both_modes([](const auto& v) { return roll<5, 2>(roll<-2, 1>(v)); }, random_tensor<bfloat16, Shape<dyn, 7, 40>>(1));
  CHECK(same_bits(roll<1, 0>(tensor_of<bool, Shape<3>>({true, false, false})),
                  tensor_of<bool, Shape<3>>({false, true, false})));
  CHECK(roll<1, 0>(Tensor<float, Shape<dyn, 3>>::empty(0)).count() == 0);
}

TEST_CASE("pieces of lines: elements of every size, short and long pieces on both sides") {
  const auto check = []<class T, int length, int turn>(std::type_identity<T>, std::integral_constant<int, length>,
                                                       std::integral_constant<int, turn>) {
    for (const long n : {1, 20}) {
      auto x = Tensor<T, Shape<dyn, length>>::empty(n);
      for (long i = 0; i < x.count(); ++i) x.data()[i] = static_cast<T>(i * 7 / 3 % 128);
      const auto rolled = roll<turn, 1>(x);
      const auto flipped = flip<1>(x);
      for (long i = 0; i < x.count(); ++i) {
        const long line = i / length * length, at = i - line;
        CHECK_UNARY(rolled.data()[i] == x.data()[line + (at + length - turn) % length]);
        CHECK_UNARY(flipped.data()[i] == x.data()[line + length - 1 - at]);
      }
    }
  };
  const auto turns = [&]<class T, int length>(std::type_identity<T> type, std::integral_constant<int, length> extent) {
    check(type, extent, std::integral_constant<int, 3>());
    check(type, extent, std::integral_constant<int, -2>());
  };
  turns(std::type_identity<bool>(), std::integral_constant<int, 150>());
  turns(std::type_identity<float16>(), std::integral_constant<int, 70>());
  turns(std::type_identity<float>(), std::integral_constant<int, 37>());
  turns(std::type_identity<float>(), std::integral_constant<int, 301>());
  check(std::type_identity<double>(), std::integral_constant<int, 65>(), std::integral_constant<int, 31>());
}

TEST_CASE("borders of every kind") {
  const auto x = tensor_of<std::int32_t, Shape<4>>({1, 2, 3, 4});
  CHECK(same_bits(pad_reflect<Margin{3, 2}>(x), tensor_of<std::int32_t, Shape<9>>({4, 3, 2, 1, 2, 3, 4, 3, 2})));
  CHECK(same_bits(pad_symmetric<Margin{2, 3}>(x), tensor_of<std::int32_t, Shape<9>>({2, 1, 1, 2, 3, 4, 4, 3, 2})));
  CHECK(
      same_bits(pad_replicate<Margin{1, 6}>(x), tensor_of<std::int32_t, Shape<11>>({1, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4})));
  CHECK(same_bits(pad_circular<Margin{1, 4}>(x), tensor_of<std::int32_t, Shape<9>>({4, 1, 2, 3, 4, 1, 2, 3, 4})));
  const auto images = random_tensor<float, Shape<dyn, 2, 5, 9>>(1, -1, 1, 2);
  both_modes([](const auto& v) { return pad_reflect<Margin{}, Margin{}, Margin{4, 1}, Margin{2, 8}>(v); }, images);
  both_modes([](const auto& v) { return pad_symmetric<Margin{}, Margin{}, Margin{5, 1}, Margin{0, 9}>(v); }, images);
  both_modes([](const auto& v) { return pad_replicate<Margin{}, Margin{}, Margin{2, 1}, Margin{3, 3}>(v); }, images);
  both_modes([](const auto& v) { return pad_circular<Margin{}, Margin{}, Margin{2, 1}, Margin{3, 3}>(v); }, images);
  const auto few = random_tensor<double, Shape<3, 4>>(2);
  check_gradients([](const auto& v) { return pad_reflect<Margin{2, 1}, Margin{1, 3}>(v); }, few);
  check_gradients([](const auto& v) { return pad_symmetric<Margin{2, 1}, Margin{1, 4}>(v); }, few);
  check_gradients([](const auto& v) { return pad_replicate<Margin{2, 1}, Margin{0, 3}>(v); }, few);
  check_gradients([](const auto& v) { return pad_circular<Margin{2, 1}, Margin{0, 3}>(v); }, few);
}

TEST_CASE("tile, repeat_interleave, flip, outer, meshgrid") {
  const auto x = tensor_of<float, Shape<2, 2>>({1, 2, 3, 4});
  CHECK(same_bits(both_modes([](const auto& v) { return tile<2, 2>(v); }, x).result,
                  tensor_of<float, Shape<4, 4>>({1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4})));
  CHECK(same_bits(tile<2, 1, 1>(x), tensor_of<float, Shape<2, 2, 2>>({1, 2, 3, 4, 1, 2, 3, 4})));
  CHECK(same_bits(both_modes([](const auto& v) { return repeat_interleave<2, 1>(v); }, x).result,
                  tensor_of<float, Shape<2, 4>>({1, 1, 2, 2, 3, 3, 4, 4})));
  CHECK(same_bits(repeat_interleave<2, 0>(tensor_of<float, Shape<dyn, 2>>({1, 2, 3, 4})),
                  tensor_of<float, Shape<times<2>, 2>>({1, 2, 1, 2, 3, 4, 3, 4})));
  both_modes([](const auto& v) { return tile<1, 3, 2, 4>(v); }, random_tensor<float16, Shape<dyn, 2, 3, 5>>(1));
  both_modes([](const auto& v) { return repeat_interleave<3, 0>(v); }, random_tensor<float, Shape<dyn, 2, 3>>(1));
  CHECK(same_bits(both_modes([](const auto& v) { return flip<0, -1>(v); }, x).result,
                  tensor_of<float, Shape<2, 2>>({4, 3, 2, 1})));
  const auto a = tensor_of<float, Shape<3>>({1, 2, 3});
  const auto b = tensor_of<float, Shape<2>>({10, 20});
  CHECK(same_bits(both_modes([](const auto& v, const auto& w) { return outer(v, w); }, a, b).result,
                  tensor_of<float, Shape<3, 2>>({10, 20, 20, 40, 30, 60})));
  CHECK(same_bits(both_modes([](const auto& v, const auto& w) { return std::get<0>(meshgrid(v, w)); }, a, b).result,
                  tensor_of<float, Shape<3, 2>>({1, 1, 2, 2, 3, 3})));
  CHECK(same_bits(
      both_modes([](const auto& v, const auto& w) { return std::get<1>(meshgrid<ops::Indexing::xy>(v, w)); }, a, b)
          .result,
      tensor_of<float, Shape<2, 3>>({10, 10, 10, 20, 20, 20})));
}

TEST_CASE("pixel_shuffle and back") {
  const auto x = tensor_of<float, Shape<1, 4, 1, 2>>({1, 2, 3, 4, 5, 6, 7, 8});
  const auto y = both_modes([](const auto& v) { return pixel_shuffle<2>(v); }, x).result;
  CHECK(same_bits(y, tensor_of<float, Shape<1, 1, 2, 4>>({1, 3, 2, 4, 5, 7, 6, 8})));
  CHECK(same_bits(pixel_unshuffle<2>(y), x));
  both_modes([](const auto& v) { return pixel_unshuffle<3>(v); }, random_tensor<float, Shape<dyn, 2, 6, 9>>(1));
}

TEST_CASE("unfold and fold: strides, dilations, padding; each is the gradient of the other") {
  const auto x = tensor_of<float, Shape<1, 1, 2, 3>>({1, 2, 3, 4, 5, 6});
  CHECK(same_bits(both_modes([](const auto& v) { return unfold<Pair{2}>(v); }, x).result,
                  tensor_of<float, Shape<1, 4, 2>>({1, 2, 2, 3, 4, 5, 5, 6})));
  CHECK(same_bits(fold<Pair{2, 3}, Pair{2}>(unfold<Pair{2}>(x)),
                  tensor_of<float, Shape<1, 1, 2, 3>>({1, 4, 3, 4, 10, 6})));
  constexpr auto windows = [](const auto& v) {
    return unfold<Pair{3, 2},
                  UnfoldConfig{.stride = Pair{2, 1}, .dilation = Pair{1, 2}, .padding = Padding{1, 0, 2, 1}}>(v);
  };
  both_modes(windows, random_tensor<float, Shape<dyn, 3, 7, 6>>(1));
  both_modes(windows, random_tensor<float16, Shape<dyn, 2, 5, 5>>(1));
  check_gradients(windows, random_tensor<double, Shape<2, 2, 4, 3>>(1));
  constexpr auto images = [](const auto& v) { return fold<Pair{5, 4}, Pair{2}, UnfoldConfig{.padding = 1}>(v); };
  both_modes(images, random_tensor<float, Shape<dyn, 8, 30>>(1));
  check_gradients(images, random_tensor<double, Shape<1, 4, 30>>(1));
}

namespace {
template <InterpolateConfig config>
void check_sizes() {
  constexpr auto larger = [](const auto& v) { return interpolate<Pair{7, 11}, config>(v); };
  constexpr auto smaller = [](const auto& v) { return interpolate<Pair{3, 1}, config>(v); };
  both_modes(larger, random_tensor<float, Shape<dyn, 2, 4, 5>>(1, -1, 1, 2));
  both_modes(smaller, random_tensor<float16, Shape<dyn, 2, 4, 5>>(1, -1, 1, 2));
  check_gradients(larger, random_tensor<double, Shape<1, 1, 4, 5>>(1));
  check_gradients(smaller, random_tensor<double, Shape<1, 1, 4, 5>>(1));
}
}  // namespace

namespace {
/// f along the last axis, where vectors are picked, and g along the one before, where rows are added: equal bits, also
/// of the gradients. x is [n, 1, extent, 5].
template <class F, class G>
void check_axes(F f, G g, const auto& x) {
  const auto squared = [](auto h) { return [=](const auto& v) { return square(h(v)); }; };
  const auto lines = [&](const auto& v) { return swap_axes<2, 3>(f(swap_axes<2, 3>(v))); };
  CHECK(same_bits(lines(x), g(x)));
  CHECK(same_bits(grad(squared(lines))(x), grad(squared(g))(x)));
}
template <int in, int out, ops::Interpolation mode>
void check_lines() {
  check_axes([](const auto& v) { return interpolate<Pair{5, out}, mode>(v); },
             [](const auto& v) { return interpolate<Pair{out, 5}, mode>(v); },
             random_tensor<float, Shape<dyn, 1, in, 5>>(7, -1, 1, in));
}
}  // namespace

TEST_CASE("lines by vectors and rows: equal bits, whatever the extents") {
  check_lines<16, 17, ops::Interpolation::linear>();
  check_lines<28, 56, ops::Interpolation::linear>();
  check_lines<33, 66, ops::Interpolation::nearest>();
  check_lines<70, 20, ops::Interpolation::area>();
  check_lines<7, 80, ops::Interpolation::cubic>();
  check_lines<200, 9, ops::Interpolation::area>();
  const auto x = random_tensor<float, Shape<dyn, 1, 37, 5>>(3, -1, 1, 2);
  check_axes([](const auto& v) { return pad_reflect<Margin{}, Margin{}, Margin{}, Margin{20, 9}>(v); },
             [](const auto& v) { return pad_reflect<Margin{}, Margin{}, Margin{20, 9}>(v); }, x);
  check_axes([](const auto& v) { return pad_replicate<Margin{}, Margin{}, Margin{}, Margin{2, 40}>(v); },
             [](const auto& v) { return pad_replicate<Margin{}, Margin{}, Margin{2, 40}>(v); }, x);
  check_axes([](const auto& v) { return flip<3>(roll<5, 3>(v)); }, [](const auto& v) { return flip<2>(roll<5, 2>(v)); },
             x);
}

TEST_CASE("many lines: the bits of each line alone") {
  const auto check = []<class S>(const Tensor<float, S>& x, auto f) {
    const auto all = f(x);
    for (long i = 0; i < x.n(); i += 13) {
      auto one = Tensor<float, S>::empty(1);
      std::copy_n(x.data() + i * one.count(), one.count(), one.data());
      const auto alone = f(one);
      CHECK(std::memcmp(alone.data(), all.data() + i * alone.count(), std::size_t(alone.count()) * sizeof(float)) == 0);
    }
  };
  const auto lines = random_tensor<float, Shape<dyn, 301>>(11, -1, 1, 300);
  check(lines, [](const auto& v) { return flip<1>(v); });
  const auto flipped = flip<1>(lines);
  for (long i = 0; i < lines.count(); ++i)
    CHECK_UNARY(flipped.data()[i] == lines.data()[i / 301 * 301 + 300 - i % 301]);
  const auto images = random_tensor<float, Shape<dyn, 5, 9, 13>>(12, -1, 1, 150);
  check(images, [](const auto& v) { return flip<3>(v); });
  check(images, [](const auto& v) { return interpolate<Pair{18, 27}>(v); });
  check(images, [](const auto& v) { return interpolate<Pair{19, 27}, Interpolation::linear>(v); });
  check(images, [](const auto& v) { return interpolate<Pair{19, 27}, Interpolation::cubic>(v); });
  check(images, [](const auto& v) { return interpolate<Pair{4, 6}, Interpolation::area>(v); });
}

TEST_CASE("interpolate: every mode with all coordinates, larger and smaller; filters") {
  using enum ops::Interpolation;
  check_sizes<InterpolateConfig{nearest, Coordinates::asymmetric}>();
  check_sizes<InterpolateConfig{nearest, Coordinates::align_corners}>();
  check_sizes<InterpolateConfig{linear, Coordinates::half_pixel}>();
  check_sizes<InterpolateConfig{linear, Coordinates::align_corners}>();
  check_sizes<InterpolateConfig{linear, Coordinates::asymmetric}>();
  check_sizes<InterpolateConfig{cubic, Coordinates::half_pixel}>();
  check_sizes<InterpolateConfig{cubic, Coordinates::align_corners}>();
  check_sizes<InterpolateConfig{area, Coordinates::half_pixel}>();
  check_sizes<InterpolateConfig{.mode = linear, .antialias = true}>();
  check_sizes<InterpolateConfig{.mode = cubic, .antialias = true, .outside = ops::Outside::border}>();
  constexpr auto widest = [](const auto& v) {  // (in - 1) / (out - 1) is larger than in / out
    return interpolate<Pair{1, 3}, InterpolateConfig{.mode = linear,
                                                     .coordinates = Coordinates::align_corners,
                                                     .antialias = true,
                                                     .outside = ops::Outside::border}>(v);
  };
  both_modes(widest, random_tensor<float, Shape<dyn, 1, 1, 100>>(1, -1, 1, 2));
  check_sizes<InterpolateConfig{.mode = cubic, .outside = ops::Outside::left_out, .coefficient = -0.5f}>();
  check_sizes<InterpolateConfig{.mode = nearest, .nearest = Nearest::round_down}>();
  constexpr auto scaled = [](const auto& v) { return interpolate<Scale{5, 4}, cubic>(v); };
  both_modes(scaled, random_tensor<float, Shape<dyn, 2, 5, 7>>(1, -1, 1, 2));
  check_gradients(scaled, random_tensor<double, Shape<1, 1, 5, 7>>(1));
}

TEST_CASE("interpolate: values that PyTorch gives") {
  const auto x = tensor_of<float, Shape<1, 1, 4>>({1, 2, 4, 8});
  using ops::Interpolation;
  const auto near = [](const auto& a, std::initializer_list<float> b) {
    std::size_t i = 0;
    for (const float wanted : b) CHECK(a.values()[i++] == doctest::Approx(wanted).epsilon(1e-5));
  };
  near(interpolate<6>(x), {1, 1, 2, 4, 4, 8});
  near(interpolate<6, Interpolation::nearest, Coordinates::half_pixel>(x), {1, 2, 2, 4, 8, 8});
  near(interpolate<7, Interpolation::linear>(x), {1, 1.3571429f, 1.9285715f, 3, 4.2857146f, 6.5714288f, 8});
  near(interpolate<7, Interpolation::linear, Coordinates::align_corners>(x), {1, 1.5f, 2, 3, 4, 6, 8});
  near(interpolate<2, Interpolation::area>(x), {1.5f, 6});
  near(interpolate<3, Interpolation::area>(x), {1.5f, 3, 6});
  const auto image = tensor_of<float, Shape<1, 1, 1, 4>>({1, 2, 4, 8});
  near(interpolate<Pair{1, 6}, Interpolation::cubic>(image),
       {0.9131947f, 1.3125f, 2.304398f, 3.383102f, 6.1875f, 8.347222f});
}

TEST_CASE("interpolate with antialias, and by a scale: values that PyTorch gives") {
  using enum ops::Interpolation;
  const auto x = tensor_of<float, Shape<1, 1, 1, 8>>({0, 1, 4, 2, 2, 4, 1, 0});
  const auto near = [](const auto& a, std::initializer_list<float> b) {
    REQUIRE(a.count() == long(b.size()));
    std::size_t i = 0;
    for (const float wanted : b) CHECK(a.values()[i++] == doctest::Approx(wanted).epsilon(1e-5));
  };
  near(interpolate<Pair{1, 3}, InterpolateConfig{.mode = linear, .antialias = true}>(x), {1.5f, 2.6190476f, 1.5f});
  near(interpolate<Pair{1, 3}, InterpolateConfig{.mode = cubic, .antialias = true}>(x),
       {1.4323326f, 2.7784843f, 1.4323326f});
  near(interpolate<Pair{1, 11}, InterpolateConfig{.mode = cubic, .antialias = true}>(x),
       {-0.0561022f, 0.3798379f, 1.9791976f, 4.0106593f, 2.4186230f, 1.75f, 2.4186230f, 4.0106593f, 1.9791976f,
        0.3798377f, -0.0561025f});
  const auto sequence = ops::reshape<Shape<1, 1, 8>>(x);
  near(interpolate<Scale{3, 5}, linear>(sequence), {0.3333333f, 4, 2, 3});
  near(interpolate<Scale{3, 5}>(sequence), {0, 1, 2, 4});
  near(interpolate<Scale{2}>(sequence), {0, 0, 1, 1, 4, 4, 2, 2, 2, 2, 4, 4, 1, 1, 0, 0});
}

TEST_CASE("interpolate: which element is nearest") {
  const auto x = tensor_of<float, Shape<1, 1, 3>>({1, 2, 4});
  // places 0, 0.5, 1, 1.5, 2; then 0, 1.5
  const auto near = [](const auto& a, std::initializer_list<float> b) {
    std::size_t i = 0;
    for (const float wanted : b) CHECK(a.values()[i++] == wanted);
  };
  using enum Nearest;
  constexpr auto corners = Coordinates::align_corners;
  near(interpolate<5, InterpolateConfig{.coordinates = corners, .nearest = before}>(x), {1, 1, 2, 2, 4});
  near(interpolate<5, InterpolateConfig{.coordinates = corners, .nearest = after}>(x), {1, 2, 2, 4, 4});
  near(interpolate<5, InterpolateConfig{.coordinates = corners, .nearest = round_down}>(x), {1, 1, 2, 2, 4});
  near(interpolate<5, InterpolateConfig{.coordinates = corners, .nearest = round_up}>(x), {1, 2, 2, 4, 4});
  near(interpolate<2, InterpolateConfig{.nearest = after}>(x), {1, 4});
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::Resample, ops::Resampling;
  const TensorType x = type<float, dyn, 4>();
  CHECK(refusal<Resample>({2, 4, Resampling::roll}, {x}) == "roll got the axis 2 for [n,4] of rank 2");
  CHECK(refusal<Resample>({0, 4, Resampling::reflect}, {x}) ==
        "pad_reflect of [n,4] along axis 0, which depends on n: it needs a fixed extent");
  CHECK(refusal<Resample>({1, 9, Resampling::reflect, 1}, {x}) ==
        "pad_reflect of [n,4] got a margin of 4 along axis 1: at most 3 elements can be mirrored or repeated");
  CHECK(refusal<Resample>({1, 3, Resampling::replicate, -1}, {x}) ==
        "pad_replicate of [n,4] got a margin of -1: use slice to take elements away");
  CHECK(refusal<Resample>({1, 0, Resampling::area}, {x}) ==
        "interpolate of [n,4] to 0 elements along axis 1: it needs 1 or more");
  CHECK(refusal<Resample>({1, 8, Resampling::linear}, {x.with(Dtype::int32)}) ==
        "interpolate of int32 [n,4] needs floating-point elements: cast them");
}
