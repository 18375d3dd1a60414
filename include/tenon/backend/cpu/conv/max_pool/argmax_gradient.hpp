// The gradients of a convolution where that of its result is a list of argmaxes (argmax_lists.hpp): a product per
// argmax instead of one per pixel. In a chain that begins with +0, a product with 0 changes nothing but the sign of a
// zero, which is lost at the chain's end; products of 0 with what is not finite are computed.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/max_pool/argmax_images.hpp>
#include <tenon/backend/cpu/conv/max_pool/argmax_lists.hpp>
#include <tenon/backend/cpu/gemm/register_tile.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/reduce/all_finite.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
// A tile of the weight's gradient: sums over the argmaxes of a plane, to which those of the samples before are added.
struct PatchTile {
  ArgmaxList list;
  const float* image;
  long row;
  float* lanes;
  const float* earlier;
  long level;  // from one such sum to the next
  int levels;
  float* sum;                // of the gradients
  const std::int32_t* ends;  // places where chains end (ListBorders)
};
template <int Rows, int Vectors>
[[gnu::noinline]] void add_patches(const PatchTile& t) {
  using V = Simd<float, patch_lanes>;
  RegisterTile<V, Rows, Vectors> sums;
  const float* const image = t.image;
  const auto lanes_of = [](auto* first) {
    return [=](int r, int v) __attribute__((always_inline)) { return first + (r * Vectors + v) * patch_lanes; };
  };
  const long row = t.row, count = t.list.count;
  const auto* const place = t.list.place;
  const float* const gradients = t.list.gradient;
  SumTree<float, 1> tree;
  long i = 0;
  for (const std::int32_t* end = t.ends;; ++end) {
    sums.begin();
    double total = 0;
    for (; i < count && place[i] < *end; ++i) {
      const V gradient(gradients[i]);
      total += double(gradients[i]);
      const float *at = image + place[i], *line[Rows];
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r, at += row) line[r] = at;
      sums.each([&](V& sum, int r, int v)
                    __attribute__((always_inline)) { sum = fmadd(gradient, V::load(line[r] + v * patch_lanes), sum); });
    }
    if (end != t.ends) sums.add_to(lanes_of(t.lanes));
    *t.sum = float(total);
    if (i == count) break;
    sums.store(lanes_of(t.lanes));
    tree.add(t.sum);
  }
  const float* earlier = t.earlier;
  for (int level = 0; level < t.levels; ++level, earlier += t.level) sums.add_to(lanes_of(earlier));
  sums.store(lanes_of(t.lanes));
  if (!tree.empty()) tree.finish(t.sum);
}
using PatchKernel = void (*)(const PatchTile&);

// Adds a plane's argmaxes times a patch of `rows` rows of weights to the image, the last argmax first.
using SpreadKernel = void (*)(const ArgmaxList& list, const float* weight, float* image, long row, long rows);
/// True if a patch stays in registers while it is spread.
constexpr bool patch_in_registers(long rows, long vectors) { return simd_bytes == 64 && rows * vectors <= 25; }
// Rows: of a patch that stays in registers, else 0.
template <int Rows, int Vectors>
[[gnu::noinline]] void spread_patches(const ArgmaxList& list, const float* weight, float* image, long row, long rows) {
  using V = Simd<float, patch_lanes>;
  V patch[Rows * Vectors + 1];
#pragma GCC unroll 32
  for (int i = 0; i < Rows * Vectors; ++i) patch[i] = V::load(weight + i * patch_lanes);
  const auto* const place = list.place;
  const float* const gradients = list.gradient;
  for (long i = list.count; i-- > 0;) {
    const V gradient(gradients[i]);
    const float* from = weight;
    float* to = image + place[i];
    const auto add = [&](int v, V factor) __attribute__((always_inline)) {
      fmadd(factor, gradient, V::load(to + v * patch_lanes)).store(to + v * patch_lanes);
    };
#pragma GCC unroll 32
    for (int r = 0; r < Rows; ++r, to += row)
#pragma GCC unroll 32
      for (int v = 0; v < Vectors; ++v) add(v, patch[r * Vectors + v]);
    for (long r = 0; Rows == 0 && r < rows; ++r, to += row, from += Vectors * patch_lanes)
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) add(v, V::load(from + v * patch_lanes));
  }
}

// Where things stand in the scratch memory of a thread, in floats.
inline constexpr int tree_levels = 5;  // of the tree that adds up 16 samples: sums of 1, 2, 4, 8, and 16
struct ArgmaxScratch {
  long sums, places, list, ends, total;
};
constexpr ArgmaxScratch argmax_scratch(const Conv2dSizes& s, const PatchImages& p) {
  ArgmaxScratch w{};
  w.sums = side_samples * p.elements;
  w.places = w.sums + round_up(tree_levels * s.o * p.lanes(), 16);
  w.list = w.places + round_up(s.c * s.taps(), 16);
  w.ends = w.list + 2 * (s.oh * s.ow + 1);
  w.total = w.ends + pixel_segments(s.oh, s.ow).count();
  return w;
}
}  // namespace detail

/// The kernel that adds up the patches of a convolution.
template <int Rows, int Vectors>
inline constexpr detail::PatchKernel patch_kernel = &detail::add_patches<Rows, Vectors>;
/// The kernel that spreads patches of this many rows and vectors.
template <int Rows, int Vectors>
inline constexpr detail::SpreadKernel spread_kernel =
                                          &detail::spread_patches < detail::patch_in_registers(Rows, Vectors) ? Rows
                                                                                                              : 0,
                                      Vectors > ;

/// Items: channels of dy. One group, no dilation.
constexpr long argmax_conv2d_weight_items(const Conv2dSizes& s) { return s.o; }
constexpr std::size_t argmax_conv2d_weight_workspace(const Conv2dSizes& s) {
  return std::size_t(detail::argmax_scratch(s, detail::patch_images(s)).total) * sizeof(float);
}
/// dw as by conv2d_backward_weight of more than one tap, where x is row-major or NCHW16n; leaves the lists' sums with
/// them. kernel: patch_kernel of a tile's rows and vectors.
void argmax_conv2d_weight(const Conv2dSizes& s, bool blocks, const float* x, float* lists, float* dw, long begin,
                          long end, void* workspace, detail::PatchKernel kernel);

/// Items: samples. One group, no dilation, whole_pixels.
constexpr long argmax_conv2d_input_items(const Conv2dSizes& s) { return s.n; }
constexpr std::size_t argmax_conv2d_input_workspace(const Conv2dSizes& s) {
  const detail::PatchImages p = detail::patch_images(s);
  return std::size_t((detail::side_samples + 1) * p.elements + s.o * s.kh * p.patch + 2 * (s.oh * s.ow + 1)) *
         sizeof(float);
}
/// dx as by conv2d_backward_input, row-major. kernel: spread_kernel of a patch's rows and of a row's vectors.
void argmax_conv2d_input(const Conv2dSizes& s, const float* weight, const float* lists, float* dx, long begin, long end,
                         void* workspace, detail::SpreadKernel kernel);

#if TENON_DEFINES
namespace detail {
constexpr ArgmaxPlanes argmax_planes(const Conv2dSizes& s, const PatchImages& p) { return {s.oh, s.ow, p.places.form}; }

// A list of all pixels, in `room`.
[[gnu::noinline, gnu::cold]] inline ArgmaxList all_pixels(const ArgmaxPlanes& p, const ArgmaxList& list, float* room) {
  auto* const places = reinterpret_cast<std::int32_t*>(room);
  float* const gradients = room + p.pixels();
  long at = 0, listed = 0;
  for (long y = 0; y < p.height; ++y)
    for (long x = 0; x < p.width; ++x, ++at) {
      places[at] = p.place(y, x);
      gradients[at] = listed < list.count && list.place[listed] == places[at] ? list.gradient[listed++] : 0.0f;
    }
  return {places, gradients, at};
}

class ArgmaxWeight {
 public:
  ArgmaxWeight(const Conv2dSizes& s, bool blocks, float* workspace, PatchKernel kernel)
      : s_(s),
        p_(patch_images(s)),
        planes_(argmax_planes(s, p_)),
        at_(argmax_scratch(s, p_)),
        images_(s, p_, blocks, workspace),
        kernel_(kernel),
        sums_(workspace + at_.sums),
        list_(workspace + at_.list),
        place_(reinterpret_cast<std::int32_t*>(workspace + at_.places)),
        ends_(reinterpret_cast<std::int32_t*>(workspace + at_.ends)),
        level_(s.o * p_.lanes()) {
    images_.clear_all();
    list_places();
    ListBorders borders(planes_);
    for (long i = 0; i < planes_.segments().count(); ++i) ends_[i] = borders.next();
  }
  [[gnu::noinline]] void run(const float* x, float* lists, float* dw, long begin, long end) {
    const long weights = s_.c * s_.taps();
    if (s_.n == 0) clear(dw + begin * weights, (end - begin) * weights);
    for (long first = 0; first < s_.n; first += block_samples) {
      const long count = s_.n - first < block_samples ? s_.n - first : block_samples;
      for (long s = 0; s < count; ++s) {
        if (s % side_samples == 0) images_.fill(x, first + s, count - s < side_samples ? count - s : side_samples);
        add_sample(s, lists + (first + s) * s_.o * planes_.pixels(), begin, end);
      }
      for (long o = begin; o < end; ++o) {
        const float* const sums = complete(o, count);
        float* const to = dw + o * weights;
        if (first == 0)
          for (long i = 0; i < weights; ++i) to[i] = 0.0f + sums[place_[i]];
        else
          for (long i = 0; i < weights; ++i) to[i] += sums[place_[i]];
      }
    }
  }

 private:
  // Where each weight stands in the tiles.
  void list_places() const {
    const int tile_row = p_.tile_vectors * patch_lanes, tile = p_.tile_rows * tile_row, tiles = int(p_.vector_tiles);
    std::int32_t* to = place_;
    for (int c = 0; c < s_.c; ++c)
      for (int r = 0; r < s_.kh; ++r) {
        const int row = r / p_.tile_rows * tiles * tile + r % p_.tile_rows * tile_row;
        for (int k = 0, element = c; k < s_.kw; ++k, element += p_.places.channels)
          *to++ = row + (tiles == 1 ? element : element / tile_row * tile + element % tile_row);
      }
  }
  void add_sample(long sample, float* lists, long begin, long end) const {
    const float* const image = images_.image(sample);
    const bool finite = all_finite(image, p_.elements);
    int levels = 0;
    while (sample >> levels & 1) ++levels;
    for (long o = begin; o < end; ++o) {
      float* const plane = lists + o * planes_.pixels();
      ArgmaxList list(plane, planes_.pixels());
      if (!finite) list = all_pixels(planes_, list, list_);
      float* const sums = sums_ + o * p_.lanes();
      long at = 0;
      for (long r = 0; r < p_.row_tiles; ++r)
        for (long v = 0; v < p_.vector_tiles; ++v, at += p_.tile())
          kernel_({list, image + r * p_.tile_rows * p_.row + v * p_.tile_vectors * patch_lanes, p_.row,
                   sums + levels * level_ + at, sums + at, level_, levels, &ArgmaxList::sum(plane), ends_});
    }
  }
  // The tree of `count` samples, the missing ones as +0.
  const float* complete(long o, long count) const {
    float* const sums = sums_ + o * p_.lanes();
    int level = 0;
    while (!(count >> level & 1)) ++level;
    for (int left = level + 1; left < tree_levels; ++left)
      if (count >> left & 1) {
        for (long i = 0; i < p_.lanes(); ++i)
          sums[left * level_ + i] = sums[left * level_ + i] + sums[level * level_ + i];
        level = left;
      }
    return sums + level * level_;
  }

  const Conv2dSizes& s_;
  const PatchImages p_;
  const ArgmaxPlanes planes_;
  const ArgmaxScratch at_;
  const SampleImages images_;
  const PatchKernel kernel_;
  float *const sums_, *const list_;
  std::int32_t *const place_, *const ends_;
  const long level_;
};

class ArgmaxInput {
 public:
  ArgmaxInput(const Conv2dSizes& s, const float* weight, float* workspace, SpreadKernel kernel)
      : s_(s),
        p_(patch_images(s)),
        planes_(argmax_planes(s, p_)),
        images_(s, p_, false, workspace),
        kernel_(kernel),
        weight_(weight),
        segment_(workspace + side_samples * p_.elements),
        patches_(segment_ + p_.elements),
        list_(patches_ + s.o * s.kh * p_.patch),
        finite_(all_finite(weight, s.o * s.c * s.taps())) {
    pack();
    clear(segment_, p_.elements);
  }
  // The samples first .. first + count - 1.
  [[gnu::noinline]] void run(const float* lists, float* dx, long first, long count) const {
    for (long s = 0; s < count; s += side_samples) {
      const long side = count - s < side_samples ? count - s : side_samples;
      for (long i = s; i < s + side; ++i) add_sample(images_.image(i), lists + (first + i) * s_.o * planes_.pixels());
      images_.drain(dx, first + s, side);
    }
  }

 private:
  // The patch of each channel of dy, its channels last.
  void pack() const {
    const long taps = s_.taps(), channels = p_.places.channels;
    for (long o = 0; o < s_.o; ++o)
      for (long c = 0; c < channels; c += 8) {
        const float* const from = weight_ + (o * s_.c + c) * taps;
        float* const to = patches_ + o * taps * channels + c;
        const long rows = s_.c - c < 8 ? s_.c - c : 8;
        for (long t = 0; taps >= 8 && t < taps; t += 8) {
          const long at = t + 8 <= taps ? t : taps - 8;
          transpose_square(from + at, taps, rows, to + at * channels, channels, 8, false);
        }
        for (long t = 0; taps < 8 && t < taps; ++t)
          for (long i = 0; i < 8; ++i) to[t * channels + i] = i < rows ? from[i * taps + t] : 0.0f;
      }
  }
  void add_sample(float* image, const float* lists) const {
    const long segment = s_.input_segment();
    clear(image, p_.elements);
    for (long first = 0; first < s_.o; first += segment) {
      float* const to = first == 0 ? image : segment_;
      add_segment(to, lists, first, first + segment < s_.o ? first + segment : s_.o);
      if (first > 0) take_segment(image);
    }
    if (!finite_) add_left_out(image);
  }
  // Chains over channels of dy, then rows and columns of the kernel: the pixels of dy backwards.
  void add_segment(float* image, const float* lists, long first, long last) const {
    for (long o = first; o < last; ++o) {
      ArgmaxList list(lists + o * planes_.pixels(), planes_.pixels());
      if (!finite_) list = all_pixels(planes_, list, list_);
      kernel_(list, patches_ + o * s_.kh * p_.patch, image, p_.row, s_.kh);
    }
  }
  // Adds the segment to the image, and clears it for the next one.
  [[gnu::noinline]] void take_segment(float* image) const {
    using V = Simd<float, patch_lanes>;
    float* const segment = segment_;
    for (long i = 0, count = p_.elements; i < count; i += V::width) {
      (V::load(image + i) + V::load(segment + i)).store(image + i);
      V(0.0f).store(segment + i);
    }
  }
  // Products of weights that are not finite with the zeros around dy.
  [[gnu::noinline, gnu::cold]] void add_left_out(float* image) const {
    const auto meets = [](long at, int stride, long extent) {
      return at % stride == 0 ? (at < 0 || at >= extent * stride ? 1 : 0) : -1;
    };
    for (long y = 0; y < p_.rows; ++y)
      for (long x = 0; x < p_.places.columns; ++x)
        for (long r = 0; r < s_.kh; ++r)
          for (long k = 0; k < s_.kw; ++k) {
            const int down = meets(y - r, s_.stride_h, s_.oh), right = meets(x - k, s_.stride_w, s_.ow);
            if (down < 0 || right < 0 || down + right == 0) continue;
            for (long o = 0; o < s_.o; ++o)
              for (long c = 0; c < s_.c; ++c)
                image[y * p_.row + x * p_.places.channels + c] +=
                    0.0f * weight_[((o * s_.c + c) * s_.kh + r) * s_.kw + k];
          }
  }

  const Conv2dSizes& s_;
  const PatchImages p_;
  const ArgmaxPlanes planes_;
  const SampleImages images_;
  const SpreadKernel kernel_;
  const float* weight_;
  float *const segment_, *const patches_, *const list_;
  const bool finite_;
};
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void argmax_conv2d_weight(const Conv2dSizes& s, bool blocks, const float* x,
                                                         float* lists, float* dw, long begin, long end, void* workspace,
                                                         detail::PatchKernel kernel) {
  detail::ArgmaxWeight(s, blocks, static_cast<float*>(workspace), kernel).run(x, lists, dw, begin, end);
}

[[gnu::noinline]] TENON_INLINE void argmax_conv2d_input(const Conv2dSizes& s, const float* weight, const float* lists,
                                                        float* dx, long begin, long end, void* workspace,
                                                        detail::SpreadKernel kernel) {
  detail::ArgmaxInput(s, weight, static_cast<float*>(workspace), kernel).run(lists, dx, begin, end - begin);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
