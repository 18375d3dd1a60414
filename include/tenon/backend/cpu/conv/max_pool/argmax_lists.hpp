// The gradient of max pooling over windows of 2 x 2 as lists of the argmaxes: three of four pixels get none.
#pragma once
#include <cstddef>
#include <cstdint>

#include <tenon/backend/cpu/conv/max_pool/places.hpp>
#include <tenon/backend/cpu/reduce/sum_to.hpp>
#include <tenon/core/memory/arena.hpp>
#include <tenon/core/nchw16n.hpp>
#include <tenon/graph/ir/kernel_entry.hpp>
#include <tenon/target/kernel.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/pool/window.hpp>
#include <tenon/backend/cpu/reduce/channel_sums.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// The argmaxes of a plane: pixels that get a gradient, in their order. place: as ListForm says. They are where
/// the whole plane would be: their number and the sum of their gradients, then the places; from the middle on,
/// the gradients. Code that adds them up anyway leaves the sum; NaN means that no code did.
struct ArgmaxList {
  const std::int32_t* place;
  const float* gradient;
  long count;
  static constexpr long head = 2;

  ArgmaxList(const std::int32_t* places, const float* gradients, long number)
      : place(places), gradient(gradients), count(number) {}
  ArgmaxList(const float* plane, long pixels)
      : ArgmaxList(reinterpret_cast<const std::int32_t*>(plane) + head, plane + pixels / 2,
                   *reinterpret_cast<const std::int32_t*>(plane)) {}
  /// The sum that is left with a list.
  static float& sum(float* plane) { return plane[1]; }
};
/// Planes [height, width], and where the lists say that their pixels are.
struct ArgmaxPlanes {
  long height, width;
  ListForm form{};
  constexpr std::int32_t place(long y, long x) const {
    return std::int32_t(y) * form.row + std::int32_t(x) * form.column;
  }
  constexpr long windows() const { return height / 2 * (width / 2); }
  constexpr long pixels() const { return height * width; }
  constexpr PixelSegments segments() const { return pixel_segments(height, width); }
};
/// Where the segments of a plane end in a list: next() is the place of the first pixel after the next segment.
class ListBorders {
 public:
  constexpr explicit ListBorders(const ArgmaxPlanes& p) : planes_(p), segments_(p.segments()) {}
  constexpr std::int32_t next() {
    if ((x_ += segments_.columns) >= planes_.width) x_ = 0, y_ += segments_.rows;
    return planes_.place(y_, x_);
  }

 private:
  ArgmaxPlanes planes_;
  PixelSegments segments_;
  long y_ = 0, x_ = 0;
};

/// Lists the gradients of the planes [begin, end): dy where a window's maximum y is, unless that is 0 or less. places:
/// as max_pool2d_places writes them.
constexpr long listed_pitch(const ArgmaxPlanes& p) {
  return (p.windows() + block_samples - 1) / block_samples * block_samples + block_samples;
}
constexpr std::size_t list_argmaxes_workspace(const ArgmaxPlanes& p) {
  return std::size_t(listed_pitch(p)) * sizeof(float);
}
void list_argmaxes(const ArgmaxPlanes& p, const float* y, const std::uint8_t* places, const float* dy, float* lists,
                   long begin, long end, void* workspace);

/// The same with y and places in NCHW16n and dy row-major; items are a channel of a block each. n: samples.
constexpr std::size_t nchw16n_list_argmaxes_workspace(const ArgmaxPlanes& p) {
  return std::size_t(block_samples * (listed_pitch(p) + p.windows())) * sizeof(float);
}
void nchw16n_list_argmaxes(const ArgmaxPlanes& p, long n, long channels, const float* y, const std::uint8_t* places,
                           const float* dy, float* lists, long begin, long end, void* workspace);

/// y[c] = the sum of the gradients of n samples, for the channels begin .. end - 1: the bits of channel_sums of the
/// whole planes. No sum that begins with +0 becomes -0, so zeros between change nothing.
void list_sums(const ArgmaxPlanes& p, long n, long channels, const float* lists, float* y, long begin, long end);

#if TENON_DEFINES
/// Where the next argmax is written.
struct ArgmaxEnd {
  std::int32_t* place;
  float* gradient;
  void advance(long count) { place += count, gradient += count; }
};

namespace detail {
// The sum that is with a list, or else of its gradients, as channel_sums adds up a plane: segments in float64, then a
// tree. Segments after the last argmax are zeros, which change nothing.
[[gnu::noinline]] inline float sum_of_list(const ArgmaxPlanes& p, const float* plane) {
  if (plane[1] == plane[1]) return plane[1];
  const ArgmaxList list(plane, p.pixels());
  ListBorders borders(p);
  SumTree<float, 1> tree;
  for (long i = 0;;) {
    double sum = 0;
    for (const std::int32_t end = borders.next(); i < list.count && list.place[i] < end; ++i)
      sum += double(list.gradient[i]);
    float own = float(sum);
    if (i < list.count) {
      tree.add(&own);
      continue;
    }
    if (!tree.empty()) tree.finish(&own);
    return own;
  }
}

// What a list needs to know of windows: the number of each one's argmax, -1 if that is 0 or less.
[[gnu::noinline]] inline void number_argmaxes(const float* y, const std::uint8_t* places, float* number, long count) {
  constexpr int width = simd_width<float>;
  using V = Simd<float, width>;
  const V zero(0.0f), none(-1.0f);
  long i = 0;
  for (; i + width <= count; i += width) {
    const auto place = load_places<std::int32_t, width>(places + i);
    V own(__builtin_convertvector(place.lanes, V::Vector));
    own.lanes = V::load(y + i).lanes <= zero.lanes ? none.lanes : own.lanes;
    own.store(number + i);
  }
  for (; i < count; ++i) number[i] = y[i] <= 0.0f ? -1.0f : float(places[i]);
}

// The argmaxes of one row of windows, one by one: of its upper pixels, then of its lower ones.
inline void list_windows(ArgmaxPlanes p, const float* argmax, const float* dy, long windows, std::int32_t place,
                         ArgmaxEnd& to) {
  long listed = 0;
  for (int lower = 0; lower < 2; ++lower, place += p.form.row)
    for (long j = 0; j < windows; ++j) {
      const int number = int(argmax[j]) - 2 * lower;
      to.place[listed] = place + p.place(0, 2 * j + (number & 1)), to.gradient[listed] = dy[j];
      listed += unsigned(number) < 2;
    }
  to.advance(listed);
}
#if defined(__AVX2__)
inline constexpr int listed_lanes = 16;  // of a row of windows, in one vector or in two
using ListedVector = Simd<float, simd_width<float>>;
using ListedPlaces = Simd<std::int32_t, simd_width<float>>;
// A name of its own: nvcc spells ListedPlaces out, of which its host then wants to know in templates that ::Vector is a
// type.
using PlaceLanes = ListedPlaces::Vector;
// Lists the lanes whose number is greater than `least`.
[[gnu::always_inline]] inline void list_lanes(ListedVector number, ListedVector least, ListedPlaces place,
                                              ListedVector gradients, ArgmaxEnd& to) {
  ListedVector places(__builtin_bit_cast(ListedVector::Vector, place.lanes));
  const int count = pack_greater(number, least, places, gradients);
  place.lanes = __builtin_bit_cast(PlaceLanes, places.lanes);
  place.store(to.place), gradients.store(to.gradient);
  to.advance(count);
}
// Where lanes stand in the row of windows, the first of them at window `first`: place and number in the row.
struct ListedLanes {
  ListedPlaces place;
  ListedVector number;
  ListedLanes(const ArgmaxPlanes& p, int first) {
    static constexpr std::int32_t window[listed_lanes]{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const auto at = ListedPlaces::load(window + first).lanes;
    number.lanes = __builtin_convertvector(at, ListedVector::Vector);
    place.lanes = 2 * at * p.form.column;
  }
};
// The same for `rows` rows of windows, of which it reads whole vectors.
template <int vectors>
[[gnu::noinline]] ArgmaxEnd list_rows(const ArgmaxPlanes& p, const float* argmax, const float* dy, long rows,
                                      ArgmaxEnd to) {
  using V = ListedVector;
  const long windows = p.width / 2;
  const ListedPlaces column(p.form.column), row(p.form.row);
  ListedLanes first(p, 0), last(p, (vectors - 1) * V::width);
  const V behind{float(windows)}, none(-1.0f), before(-0.5f), last_upper(1.5f);
  for (; rows > 0; --rows, argmax += windows, dy += windows) {
    V number[vectors], gradients[vectors];
    ListedPlaces upper[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      ListedLanes& lane = v == 0 ? first : last;
      number[v] = choose_greater(behind, lane.number, V::load(argmax + v * V::width), none);
      gradients[v] = V::load(dy + v * V::width);
      upper[v] = lane.place + ListedPlaces(__builtin_convertvector(number[v].lanes, PlaceLanes) & 1) * column;
      lane.place = lane.place + row + row;
    }
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      list_lanes(choose_greater(number[v], last_upper, none, number[v]), before, upper[v], gradients[v], to);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) list_lanes(number[v], last_upper, upper[v] + row, gradients[v], to);
  }
  return to;
}
// How many rows it can take, so that what it reads and what it writes in vain has room. `readable`: of argmaxes and of
// dy.
constexpr long rows_in_vectors(const ArgmaxPlanes& p, long readable) {
  constexpr long width = ListedVector::width;
  const long across = p.width / 2, lanes = round_up(across, width),
             writable = p.pixels() / 2 - ArgmaxList::head - listed_lanes;
  const long read = (readable - lanes) / across + 1, room = writable / across, rows = read < room ? read : room;
  if (across > listed_lanes || readable < lanes || writable < 0) return 0;
  return rows < p.height / 2 ? rows : p.height / 2;
}
#endif

// The list of one plane.
[[gnu::noinline]] inline void list_plane(const ArgmaxPlanes& p, const float* argmaxes, const float* dy,
                                         [[maybe_unused]] long readable, float* plane) {
  auto* const number = reinterpret_cast<std::int32_t*>(plane);
  ArgmaxEnd to{number + ArgmaxList::head, plane + p.pixels() / 2};
  const long across = p.width / 2, rows = p.height / 2;
  long i = 0;
#if defined(__AVX2__)
  i = rows_in_vectors(p, readable);
  constexpr int vectors = listed_lanes / ListedVector::width;
  to = (across <= ListedVector::width ? list_rows<1> : list_rows<vectors>)(p, argmaxes, dy, i, to);
#endif
  for (; i < rows; ++i)
    list_windows(p, argmaxes + i * across, dy + i * across, across, std::int32_t(2 * i) * p.form.row, to);
  *number = std::int32_t(to.place - number - ArgmaxList::head), ArgmaxList::sum(plane) = __builtin_nanf("");
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void list_argmaxes(const ArgmaxPlanes& p, const float* y, const std::uint8_t* places,
                                                  const float* dy, float* lists, long begin, long end,
                                                  void* workspace) {
  const long windows = p.windows(), room = listed_pitch(p);
  float* const number = static_cast<float*>(workspace);
  for (long plane = begin; plane < end; ++plane) {
    const long readable = (end - plane) * windows;
    detail::number_argmaxes(y + plane * windows, places + plane * windows, number, windows);
    detail::list_plane(p, number, dy + plane * windows, readable < room ? readable : room, lists + plane * p.pixels());
  }
}

[[gnu::noinline]] TENON_INLINE void nchw16n_list_argmaxes(const ArgmaxPlanes& p, long n, long channels, const float* y,
                                                          const std::uint8_t* places, const float* dy, float* lists,
                                                          long begin, long end, void* workspace) {
  const long pitch = listed_pitch(p), windows = p.windows();
  float *const own = static_cast<float*>(workspace), *const number = own + block_samples * pitch;
  for (long item = begin; item < end; ++item) {
    const long first = item / channels * block_samples, count = n - first < block_samples ? n - first : block_samples,
               from = item * windows * block_samples;
    detail::number_argmaxes(y + from, places + from, number, windows * block_samples);
    copy_matrix(number, 1, block_samples, own, pitch, block_samples, windows, pitch - block_samples);
    for (long s = 0; s < count; ++s) {
      const long plane = (first + s) * channels + item % channels, readable = (n * channels - plane) * windows;
      detail::list_plane(p, own + s * pitch, dy + plane * windows, readable < pitch ? readable : pitch,
                         lists + plane * p.pixels());
    }
  }
}

[[gnu::noinline]] TENON_INLINE void list_sums(const ArgmaxPlanes& p, long n, long channels, const float* lists,
                                              float* y, long begin, long end) {
  for (long c = begin; c < end; ++c) {
    LongSum<float, 1, block_chain> total;
    for (long first = 0; first < n; first += block_samples) {
      const long samples = n - first < block_samples ? n - first : block_samples;
      float sample[block_samples];
      for (long s = 0; s < samples; ++s)
        sample[s] = detail::sum_of_list(p, lists + ((first + s) * channels + c) * p.pixels());
      total.add({detail::sum_of_samples(sample, samples)});
    }
    y[c] = *total.finish();
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel

namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPoolList;
struct SumOfLists;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::MaxPoolList> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::first};
  static constexpr bool linear_work = true;
  // Of windows of 2 x 2 side by side. Operands are those of MaxPool2dGrad here.
  static constexpr ListForm list_form(const TensorType& result, const TensorType* operand, const Attributes& attributes,
                                      int at) {
    const auto c = unpack<ops::Pool2dGradAttributes>(attributes);
    const bool halves = c.kh == 2 && c.kw == 2 && c.stride_h == 2 && c.stride_w == 2 && c.top == 0 && c.left == 0 &&
                        operand[1][2] == result[2] / 2 && operand[1][3] == result[3] / 2;
    return at < 0 && halves && result.dtype == Dtype::float32 ? ListForm::any() : ListForm{};
  }
  static constexpr bool fits_nchw16n(const TensorType&, const TensorType* operand, int) { return is_image(operand[0]); }
  template <class Call>
  static constexpr kernel::ArgmaxPlanes planes{Call::result[2], Call::result[3], Call::config()};
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr long workspace(long) {
    return long(kernel::list_argmaxes_workspace(planes<Call>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::list_argmaxes(planes<Call>, a.operand<float>(0), a.operand<std::uint8_t>(1), a.operand<float>(2),
                          a.result<float>(), begin, end, a.workspace);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return {whole_blocks(n) / block_samples * Call::result[1], Call::result.span(2, 4) * block_samples / 4 + 1,
            aligned(long(kernel::nchw16n_list_argmaxes_workspace(planes<Call>)))};
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::nchw16n_list_argmaxes(planes<Call>, a.n, Call::result[1], a.operand<float>(0), a.operand<std::uint8_t>(1),
                                  a.operand<float>(2), a.result<float>(), begin, end, a.workspace);
  }
};

template <>
struct Kernel<Cpu, ops::SumOfLists> {
  static constexpr KernelFacts facts{.tile_sums = true, .tile_chains = true};
  static constexpr bool fits_nchw16n(const TensorType&, const TensorType*, int) { return true; }
  // Of the sums per channel that SumTo would make.
  static constexpr ListForm list_form(const TensorType& result, const TensorType* operand, const Attributes&, int) {
    return Kernel<Cpu, ops::SumTo>::fits_nchw16n(result, operand, 1) ? ListForm::any() : ListForm{};
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return {Call::operand(0)[1], n * Call::operand(0).span(2, 4) / 4 + 1, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    constexpr TensorType x = Call::operand(0);
    kernel::list_sums({x[2], x[3], Call::config()}, a.n, x[1], a.operand<float>(0), a.result<float>(), begin, end);
  }
};

}  // namespace tenon
TENON_EXACT_END
