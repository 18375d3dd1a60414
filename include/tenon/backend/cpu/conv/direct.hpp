// Direct convolution: a padded image with the taps of a kernel, forward and as the gradient for the input, vectors
// along pixels.
#pragma once
#include <cstring>

#include <tenon/backend/cpu/conv/phases.hpp>
#include <tenon/backend/cpu/conv/shares.hpp>
#include <tenon/backend/cpu/movement/prefetch.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

template <class T>
class DirectConv {
  using A = ProductSum<T>;
  using P = Packed<T>;
  static constexpr long unit = steps_per_unit<T>;

 public:
  static constexpr bool widen = !std::is_same_v<A, T>, packs = widen;

  DirectConv(const ConvPlan& c, void* workspace) : c_(c), at_(conv_scratch<T>(c, workspace)), pitch_(sums_pitch<A>(c)) {
    at_.starts[0] = 0;
  }

  /// Appends a tap to the phase that is being described: where its weight of plane 0 is, which pixel of the padded
  /// image it meets for the first one of the result.
  void add(long weight, long y, long x) { append(weight, c_.image.offset(0, y, x)); }
  /// Repeats the taps of this phase for the other planes: divisions are slow, and a tap needs several.
  void end_phase() {
    const long first = at_.starts[phase_], each = count_ - first, weight_step = unit * c_.plane_step;
    for (long p = 1; p < c_.image.planes; ++p)
      for (long t = first; t < first + each; ++t)
        append((widen ? at_.source[t] : at_.taps[t].a) + p * weight_step, at_.taps[t].b + p * c_.image.plane());
    at_.starts[++phase_] = count_;
  }

  /// Packs the weights of `rows` result channels, which run() then finds `packed` channels after the first.
  [[gnu::noinline]] void pack(const T* weight, long rows) {
    for (long i = 0; i < rows; ++i, weight += c_.row_step) pack_row(weight, at_.weight + i * count_);
  }

  /// Result channels row0 .. row0 + rows - 1 of one sample and group. weight: of row0; from: the group's planes; to:
  /// plane of row0; next: the same planes of the next sample, if there is one.
  [[gnu::noinline]] void run(const T* weight, const T* from, T* to, long rows, [[maybe_unused]] long packed,
                             const T* next) {
    clear_untouched(c_, at_.starts, to, rows);
    leave_out_zeros(weight, from, rows);
    const long blocks = ceil_div(rows, tile_rows);
    for (long i0 = 0; i0 < c_.grid_h; i0 += c_.band) {
      pixels_ = at_.image;
      if constexpr (std::is_same_v<T, P>)
        if (c_.in_place) pixels_ = from + i0 * c_.image.pitch;
      if (!c_.in_place) {
        if (!cleared_ || c_.band < c_.grid_h) clear(at_.image, c_.image.elements() + conv_slack<A>);
        cleared_ = true;
        fill_padded(c_.image, c_.source, from, i0 * c_.image.step_h, at_.image, first_plane_, end_plane_);
      }
      if constexpr (!widen) fetch_image(from, next, i0, blocks);
      for (long block = 0; block < blocks; ++block) {
        const long r = border(rows, blocks, block), count = border(rows, blocks, block + 1) - r;
        const P* operand;
        if constexpr (widen) operand = at_.weight + (packed + r) * count_;
        else
          operand = weight + r * c_.row_step,
          fetch_weights(operand + count * c_.row_step,
                        block + 1 < blocks ? border(rows, blocks, block + 2) - r - count : 0);
        for (int phase = 0; phase < c_.phases(); ++phase) run_phase(operand, to, r, int(count), i0, phase);
      }
    }
  }

 private:
  void append(long weight, long pixel) {
    const long step = count_ - at_.starts[phase_];
    if (widen) at_.source[count_] = std::int32_t(weight);
    at_.taps[count_++] = {std::int32_t(widen ? step : weight), std::int32_t(pixel)};
  }
  // Planes of zeros before and after all others, as volumes have at their ends: with finite weights they change nothing
  // but the sign of a zero, which the final + 0 clears. Chains of a segment begin where they did.
  void leave_out_zeros([[maybe_unused]] const T* weight, [[maybe_unused]] const T* from, [[maybe_unused]] long rows) {
    first_plane_ = 0, end_plane_ = c_.image.planes;
    if constexpr (std::is_same_v<T, float>) {
      const long pixels = c_.h * c_.w, taps = c_.taps();
      if (c_.plane_step != taps || c_.phases() > 1) return;
      const auto zeros = [&](long p) {
        const float* const plane = from + p * pixels;
        return plane[0] == 0 && std::memcmp(plane, plane + 1, std::size_t(pixels - 1) * sizeof(float)) == 0;
      };
      while (end_plane_ > 1 && zeros(end_plane_ - 1)) --end_plane_;
      while (first_plane_ < end_plane_ - 1 && zeros(first_plane_)) ++first_plane_;
      for (long r = 0; r < rows && end_plane_ - first_plane_ < c_.image.planes; ++r, weight += c_.row_step)
        if (!all_finite(weight, first_plane_ * taps) ||
            !all_finite(weight + end_plane_ * taps, (c_.image.planes - end_plane_) * taps))
          first_plane_ = 0, end_plane_ = c_.image.planes;
      if (c_.segments) first_plane_ -= first_plane_ % c_.segment;
    }
  }
  // The weights of the next rows, where tiles are few and pieces of weights lie far apart, so that no processor sees
  // what comes next.
  void fetch_weights(const P* weight, long rows) {
    const long length = rows * c_.row_step * long(sizeof(P)), columns = columns_of(c_.band);
    const bool apart = c_.plane_step > c_.row_step && length >= 128 && columns <= 256;
    weights_.begin(weight, length, c_.plane_step * long(sizeof(P)), apart ? c_.image.planes : 0, c_.steps * columns);
  }
  // The next band of the image, or the first one of the next sample's, where little is computed per pixel.
  void fetch_image(const T* from, const T* next, long i0, long blocks) {
    const long first = i0 + c_.band < c_.grid_h ? i0 + c_.band : 0,
               rows = c_.band < c_.image.h - first ? c_.band : c_.image.h - first;
    const T* const planes = first > 0 ? from : next;
    const bool little = planes && c_.in_place && c_.rows <= 128 && c_.image.planes * c_.image.h * c_.image.w >= 1 << 16;
    const long bytes = little ? rows * c_.image.w * long(sizeof(T)) : 0;
    ahead_.begin(planes + first * c_.image.w, bytes, c_.source.step * long(sizeof(T)), c_.image.planes,
                 c_.steps * columns_of(c_.band) * blocks);
  }
  long columns_of(long band) const { return (band - 1) * c_.image.pitch + c_.grid_w; }
  // A tile, in pieces if something is fetched between them.
  [[gnu::always_inline]] long compute(const Tile<A, P>& tile, int rows, long columns) {
    return weights_.count != 0 || ahead_.count != 0 ? compute_pieces(tile, rows, columns)
           : c_.segments                            ? run_segments(tile, rows, columns, segment_)
                                                    : run_tile(tile, rows, columns);
  }
  [[gnu::noinline]] long compute_pieces(const Tile<A, P>& tile, int rows, long columns) {
    const long piece = c_.segments ? segment_ : segment_units<A>;
    Tile<A, P> part = tile;
    for (long left = tile.count;; left -= piece, part.taps += piece) {
      const bool last = left <= piece || (weights_.count == 0 && !c_.segments);
      part.count = last ? left : piece;
      weights_.fetch(part.count * columns);
      ahead_.fetch(part.count * columns);
      const long covered = run_tile(part, rows, columns);
      if (last) return covered;
      (c_.segments ? part.add : part.resume) = true;
    }
  }

  void pack_row(const T* weight, P* to) const {
    if constexpr (unit == 2) {
      const long taps = count_ / c_.image.planes;
      if (phase_ == 1) {  // all taps of a channel follow each other
        for (long p = 0; p < c_.image.planes; ++p, weight += unit * c_.plane_step)
          pack_short_pairs(weight, p < c_.source.seconds ? weight + c_.plane_step : nullptr, taps, to + p * taps);
        return;
      }
      const long last = c_.source.seconds * unit * c_.plane_step;  // weights from here on have no partner
      for (long t = 0; t < count_; ++t)
        to[t] =
            one_pair(weight + at_.source[t], at_.source[t] < last ? weight + at_.source[t] + c_.plane_step : nullptr);
    } else {
      for (long t = 0; t < count_; ++t) to[t] = widened(weight[at_.source[t]]);
    }
  }

  void run_phase(const P* weight, T* to, long r, int rows, long i0, int phase) {
    const int phase_h = phase / c_.step_w, phase_w = phase % c_.step_w;
    const long grid_h = ceil_div(c_.height - phase_h, c_.step_h), grid_w = ceil_div(c_.width - phase_w, c_.step_w);
    const long band = c_.band < grid_h - i0 ? c_.band : grid_h - i0;
    const long taps = (at_.starts[phase + 1] - at_.starts[phase]) / c_.image.planes,
               first = at_.starts[phase] + first_plane_ * taps, count = (end_plane_ - first_plane_) * taps;
    if (band <= 0 || grid_w <= 0 || (count == 0 && c_.phases() > 1)) return;
    segment_ = taps * c_.segment;
    to += r * c_.height * c_.width;
    std::int32_t row[tile_rows];
    const P* operand = weight;
    if constexpr (widen) operand += first;
    for (int i = 0; i < tile_rows; ++i) row[i] = std::int32_t(i * (widen ? count_ : c_.row_step));
    const long columns = (band - 1) * c_.image.pitch + grid_w;
    if constexpr (!widen)
      if (c_.phases() == 1 && c_.image.pitch == grid_w && columns >= tile_step<A>)
        return run_direct(
            Tile<A, P>{at_.taps + first, count, operand, row, pixels_, to + i0 * c_.width, c_.height * c_.width, false},
            rows, columns);
    for (long q = 0; q < columns;) {
      if (c_.phases() == 1) fetch_result(to + i0 * c_.width + q, rows, 3 * simd_width<A>);
      q += compute(Tile<A, P>{at_.taps + first, count, operand, row, pixels_ + q, at_.sums + q, pitch_, false}, rows,
                   rows == 1 ? columns - q : next_columns<A>(columns - q));
    }
    // Read before the stores, which may change them for all that a compiler knows.
    const long out_step = c_.step_h * c_.width, sums_step = c_.image.pitch;
    const int step_w = c_.step_w;
    for (int i = 0; i < rows; ++i) {
      T* out = to + (i * c_.height + i0 * c_.step_h + phase_h) * c_.width + phase_w;
      const A* sums = at_.sums + i * pitch_;
      for (long y = 0; y < band; ++y, out += out_step, sums += sums_step)
        if (step_w == 1) copy_sums(sums, out, grid_w);
        else if (unit == 2 && step_w == 2) copy_every_second(sums, out - phase_w, grid_w, phase_w, c_.width);
        else spread_sums(sums, out, grid_w, step_w);
    }
  }

  // Processors do not see the stores coming that go to the next rows. (A call would be left out as one without effect.)
  [[gnu::always_inline]] void fetch_result(const T* to, int rows, long width) const {
    constexpr long near = 256 << 10;  // bytes
    if (c_.rows * c_.height * c_.width < near / long(sizeof(T))) return;
    for (int i = 0; i < rows; ++i)
      for (long x = 0; x < width; x += 64 / long(sizeof(T))) __builtin_prefetch(to + i * c_.height * c_.width + x, 1);
  }
  // All columns are results, whose tiles lie in the result itself. The last one overlaps the one before it.
  [[gnu::noinline]] void run_direct(Tile<A, P> tile, int rows, long columns) {
    const P* const pixels = tile.b;
    A* const to = tile.out;
    for (long q = 0, width; q < columns; q += width) {
      const long left = columns - q;
      width = rows == 1 && left >= tile_columns<A>(1) ? tile_columns<A>(1) : next_columns<A>(left);
      if (width > columns) width = filled_columns<A>(columns);
      if (width > left) q = columns - width;
      tile.b = pixels + q, tile.out = to + q;
      fetch_result(tile.out, rows, width);
      compute(tile, rows, width);
      for (int i = 0; i < rows; ++i) copy_sums(tile.out + i * tile.out_row, tile.out + i * tile.out_row, width);
    }
  }

  // Every second element of a row of bfloat16, from the first or the second on; the others stay.
  static void copy_every_second(const A* sums, T* row, long count, int odd, long width) {
    if constexpr (unit == 2) {
      using V = Simd<float, (simd_width<float> < 8 ? simd_width<float> : 8)>;
      using Bits = Simd<std::uint32_t, V::width>;
      long x = 0;
      for (; x + V::width <= count && 2 * (x + V::width) <= width; x += V::width) {
        T rounded[V::width];
        store_sums(V::load(sums + x), rounded);
        const Bits own(
            __builtin_convertvector(tenon::detail::load_bits<V::width>(rounded).lanes, typename Bits::Vector));
        typename Bits::Vector pairs;
        __builtin_memcpy(&pairs, row + 2 * x, sizeof pairs);  // at any place of two bytes
        pairs = odd ? (pairs & 0xffffu) | own.lanes << 16 : (pairs & 0xffff0000u) | own.lanes;
        __builtin_memcpy(static_cast<void*>(row + 2 * x), &pairs, sizeof pairs);
      }
      for (; x < count; ++x) row[2 * x + odd] = narrowed<T>(sums[x]);
    }
  }

  // float32 ends with + 0, as in NCHW16n: it clears the sign of a zero, which may depend on taps that meet
  // padding.
  template <class V>
  [[gnu::always_inline]] static V plus_zero(V sum) {
    if constexpr (std::is_same_v<T, float>) return sum + V(0.0f);
    else return sum;
  }
  static void copy_sums(const A* sums, T* out, long count) {
    if constexpr (std::is_same_v<T, float>) {
      using V = Simd<float>;
      using Half = Simd<float, (V::width < packed_rows ? V::width : packed_rows / 2)>;
      const auto vectors = [&]<class W>(W) __attribute__((always_inline)) {  // the last one overlaps the one before it
        for (long x = 0; x + W::width < count; x += W::width) plus_zero(W::load(sums + x)).store(out + x);
        plus_zero(W::load(sums + count - W::width)).store(out + count - W::width);
      };
      if (count >= V::width) vectors(V());
      else if (count >= Half::width) vectors(Half());
      else
        for (long x = 0; x < count; ++x) out[x] = plus_zero(sums[x]);
    } else {
      round_sums(sums, out, count);
    }
  }

  const ConvPlan& c_;
  const ConvScratch<T> at_;
  long pitch_, first_plane_ = 0, end_plane_ = 0, count_ = 0,
               segment_ = 0;  // segment_: steps of one, of the taps that are listed
  int phase_ = 0;
  bool cleared_ = false;  // the padding stays zero as long as one band holds the whole image
  Ahead weights_, ahead_;
  const P* pixels_ = nullptr;  // in the image, or in the operand itself
};
}  // namespace tenon::kernel::detail
TENON_EXACT_END
