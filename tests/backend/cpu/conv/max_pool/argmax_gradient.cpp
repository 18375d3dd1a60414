// Gradients from lists of argmaxes: the bits of the kernels that get them as whole planes, in both layouts.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>

#include <tenon/backend/cpu/conv/conv2d.hpp>
#include <tenon/backend/cpu/conv/max_pool/argmax_gradient.hpp>
#include <tenon/backend/cpu/conv/weight_gradient.hpp>

#include "../../nchw16n/sample_blocks.hpp"
#include "../../reference.hpp"
#include "../print_sizes.hpp"

using namespace tenon;
using kernel::Conv2dSizes;
using reference::in_blocks_of, reference::in_parts, reference::Workspace;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();
using Floats = std::vector<float>;
Floats room(long count) { return Floats(std::size_t(count), 77.0f); }

// Equal bits; NaN equals NaN, whose sign and payload no instruction set promises.
bool same(const Floats& a, const Floats& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
  return a.size() == b.size();
}

template <int Rows, int... Vectors>
kernel::detail::PatchKernel of_vectors(int vectors, std::integer_sequence<int, Vectors...>) {
  kernel::detail::PatchKernel found = nullptr;
  ((vectors == Vectors + 1 ? void(found = kernel::patch_kernel<Rows, Vectors + 1>) : void()), ...);
  return found;
}
template <int... Rows>
kernel::detail::PatchKernel of_rows(const kernel::detail::PatchImages& p, std::integer_sequence<int, Rows...>) {
  kernel::detail::PatchKernel found = nullptr;
  ((p.tile_rows == Rows + 1
        ? void(found = of_vectors<Rows + 1>(p.tile_vectors,
                                            std::make_integer_sequence<int, kernel::detail::patch_vectors>()))
        : void()),
   ...);
  REQUIRE(static_cast<bool>(found));
  return found;
}

template <int Rows, int... Vectors>
kernel::detail::SpreadKernel of_patch(int vectors, std::integer_sequence<int, Vectors...>) {
  kernel::detail::SpreadKernel found = nullptr;
  ((vectors == Vectors + 1 ? void(found = kernel::spread_kernel<Rows, Vectors + 1>) : void()), ...);
  return found;
}
inline constexpr int most_vectors = 320 / kernel::detail::patch_lanes;  // of the largest patch here
template <int... Rows>
kernel::detail::SpreadKernel of_patch(long rows, int vectors, std::integer_sequence<int, Rows...>) {
  kernel::detail::SpreadKernel found = nullptr;
  ((rows == Rows + 1 ? void(found = of_patch<Rows + 1>(vectors, std::make_integer_sequence<int, most_vectors>()))
                     : void()),
   ...);
  REQUIRE(static_cast<bool>(found));
  return found;
}

struct Case {
  Conv2dSizes s;
  kernel::ArgmaxPlanes planes;
  long in, out, whole;
  Floats x, weight, y, dy, spread;
  std::vector<std::uint8_t> places;

  Case(const Conv2dSizes& sizes, std::uint64_t seed, long dead = 1)
      : s(sizes), planes(kernel::detail::argmax_planes(s, kernel::detail::patch_images(s))) {
    in = s.c * s.h * s.w, out = s.o * planes.windows(), whole = s.o * planes.pixels();
    Random random(seed);
    x = reference::numbers<float>(s.n * in, random), weight = reference::numbers<float>(s.o * s.c * s.taps(), random),
    dy = reference::numbers<float>(s.n * out, random);
    y = room(s.n * out);
    places.resize(y.size());
    constexpr float dead_maxima[]{0.0f, -0.0f, -1.0f, -infinity};
    for (std::size_t i = 0; i < y.size(); ++i) {
      places[i] = std::uint8_t(random.below(4));
      y[i] = long(random.below(std::uint64_t(4 + dead))) < dead ? dead_maxima[i % 4] : i % 5 ? 0.5f : not_a_number;
    }
    renew();
  }
  bool finite() const { return kernel::all_finite(dy.data(), long(dy.size())); }
  void renew() {
    spread = Floats(std::size_t(s.n * whole), 0.0f);
    for (long plane = 0; plane < s.n * s.o; ++plane)
      for (long i = 0; i < s.oh / 2; ++i)
        for (long j = 0; j < s.ow / 2; ++j) {
          const auto from = std::size_t(plane * planes.windows() + i * (s.ow / 2) + j);
          if (const int w = places[from]; !(y[from] <= 0))
            spread[std::size_t((plane * s.oh + 2 * i + w / 2) * s.ow + 2 * j + w % 2)] = dy[from];
        }
  }

  Floats lists(bool blocks, long parts) const {
    Floats list = room(s.n * whole);
    if (!blocks) {
      Workspace workspace(kernel::list_argmaxes_workspace(planes));
      in_parts(s.n * s.o, parts, [&](long begin, long end) {
        kernel::list_argmaxes(planes, y.data(), places.data(), dy.data(), list.data(), begin, end, workspace.data());
      });
      return list;
    }
    const Floats maxima = in_blocks_of(y, s.n, out);
    const auto of = in_blocks_of(places, s.n, out);
    Workspace workspace(kernel::nchw16n_list_argmaxes_workspace(planes));
    in_parts(whole_blocks(s.n) / block_samples * s.o, parts, [&](long begin, long end) {
      kernel::nchw16n_list_argmaxes(planes, s.n, s.o, maxima.data(), of.data(), dy.data(), list.data(), begin, end,
                                    workspace.data());
    });
    return list;
  }
  Floats sums(const Floats& list, long parts) const {
    Floats y = room(s.o);
    in_parts(s.o, parts,
             [&](long begin, long end) { kernel::list_sums(planes, s.n, s.o, list.data(), y.data(), begin, end); });
    return y;
  }
  Floats weight_gradient(bool blocks, long parts) const {
    Floats dw = room(s.o * s.c * s.taps());
    Floats list = lists(blocks, parts);
    const Floats from = blocks ? in_blocks_of(x, s.n, in) : x, before = sums(list, parts);
    Workspace workspace(kernel::argmax_conv2d_weight_workspace(s));
    const auto tile =
        of_rows(kernel::detail::patch_images(s), std::make_integer_sequence<int, kernel::detail::patch_rows>());
    in_parts(s.o, parts, [&](long begin, long end) {
      kernel::argmax_conv2d_weight(s, blocks, from.data(), list.data(), dw.data(), begin, end, workspace.data(), tile);
    });
    CHECK(same(sums(list, parts), before));  // they are with the lists now
    for (long plane = 0; plane < s.n * s.o; ++plane)
      if (const float left = list[std::size_t(plane * planes.pixels() + 1)]; finite()) CHECK(left == left);
    return dw;
  }
  Floats input_gradient(long parts) const {
    Floats dx = room(s.n * in);
    const Floats list = lists(false, parts);
    Workspace workspace(kernel::argmax_conv2d_input_workspace(s));
    const auto tile = of_patch(s.kh, int(kernel::detail::patch_images(s).patch / kernel::detail::patch_lanes),
                               std::make_integer_sequence<int, 7>());
    in_parts(kernel::argmax_conv2d_input_items(s), parts, [&](long begin, long end) {
      kernel::argmax_conv2d_input(s, weight.data(), list.data(), dx.data(), begin, end, workspace.data(), tile);
    });
    return dx;
  }

  void check() const {
    CAPTURE(s);
    Floats y = room(s.o), dw = room(s.o * s.c * s.taps()), dx = room(s.n * in);
    kernel::channel_sums({s.n, s.o, planes.pixels(), false}, s.ow, spread.data(), y.data(), 0, s.o);
    Workspace for_weight(kernel::conv2d_backward_weight_workspace<float>(s)),
        for_input(kernel::conv2d_workspace<float>(s.for_input()));
    kernel::conv2d_backward_weight<float, false>(s, x.data(), spread.data(), dw.data(), 0,
                                                 kernel::conv2d_backward_weight_items(s), for_weight.data());
    kernel::conv2d(s.for_input(), spread.data(), weight.data(), dx.data(), 0, kernel::conv2d_items(s.for_input()),
                   for_input.data(), {});
    for (const bool blocks : {false, true})
      for (long parts = 1; parts <= 3; ++parts) {
        CAPTURE(blocks);
        CAPTURE(parts);
        CHECK(same(sums(lists(blocks, parts), parts), y));
        CHECK(same(weight_gradient(blocks, parts), dw));
        if (whole_pixels(kernel::detail::patch_images(s).places)) CHECK(same(input_gradient(parts), dx));
      }
  }
};

Conv2dSizes sizes(long n, long c, long h, long w, long o, int kh, int kw, int stride_h, int stride_w, int top,
                  int bottom, int left, int right) {
  const long oh = (h + top + bottom - kh) / stride_h + 1, ow = (w + left + right - kw) / stride_w + 1;
  return {n, c, h, w, o, oh, ow, kh, kw, stride_h, stride_w, top, left, 1, 1, 1};
}
Conv2dSizes plain(long n, long c, long size, long o, int k, int pad) {
  return sizes(n, c, size, size, o, k, k, 1, 1, pad, pad, pad, pad);
}
}  // namespace

TEST_CASE("argmax_conv2d: random shapes") {
  Random random(1);
  const auto pick = [&](int low, int high) { return low + int(random.below(std::uint64_t(high - low + 1))); };
  int cases = 0;
  for (int i = 0; cases < 200; ++i) {
    const int kh = pick(1, 7), kw = pick(1, 7);
    const Conv2dSizes s =
        sizes(pick(1, 37), i % 2 ? pick(5, 19) : pick(1, 4), kh - 1 + pick(1, 20), kw - 1 + pick(1, 40), pick(1, 11),
              kh, kw, pick(1, 3), pick(1, 3), pick(0, 3), pick(0, 2), pick(0, 3), pick(0, 2));
    if (s.oh < 2 || s.ow < 8 || s.taps() == 1) continue;  // one tap: no graph makes lists of that
    ++cases;
    Case(s, std::uint64_t(i), i % 4).check();
  }
}

TEST_CASE("argmax_conv2d: the layers of networks") {
  Case(plain(50, 1, 28, 6, 5, 2), 1).check();  // LeNet
  Case(plain(50, 6, 14, 16, 5, 0), 2).check();
  Case(plain(16, 3, 32, 8, 3, 1), 3).check();
  Case(plain(17, 32, 16, 12, 3, 1), 4).check();
  Case(plain(3, 5, 9, 3, 2, 0), 5, 100).check();                    // most windows are dead
  Case(plain(5, 3, 70, 2, 3, 1), 6).check();                        // rows of many vectors
  Case(sizes(3, 1, 4, 600, 2, 1, 3, 1, 1, 0, 0, 1, 1), 7).check();  // segments that are pieces of rows
  Case(plain(18, 6, 40, 3, 3, 1), 8, 60).check();                   // some without an argmax
}

TEST_CASE("argmax_conv2d: what is not finite meets every zero, those of the padding, too") {
  for (const Conv2dSizes& s :
       {plain(19, 1, 12, 3, 5, 2), plain(3, 6, 10, 4, 3, 1), sizes(18, 5, 11, 17, 3, 3, 3, 2, 1, 1, 1, 1, 1)}) {
    Case c(s, 1);
    for (const float value : {infinity, -infinity, not_a_number}) {
      c.dy[5] = value, c.places[5] = 2, c.y[5] = 1;
      c.renew();
      c.check();
      c.x[c.x.size() / 2] = value;
      c.check();
      c.weight[c.weight.size() / 2] = value;
      c.check();
    }
  }
}
