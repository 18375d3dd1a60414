// Direct convolution, channels last: the sums of conv/direct.hpp with vectors along the result's channels, and pixels
// as the rows of a tile.
#pragma once
#include <tenon/backend/cpu/conv/phases.hpp>
#include <tenon/backend/cpu/conv/shares.hpp>
#include <tenon/backend/cpu/movement/prefetch.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// A pixel has the taps that meet the image and no others, because pixels of a tile need not be neighbours: those that
// meet the same taps go together. The chains are those of DirectConv.
template <class T>
class ChannelsLastConv {
  using A = ProductSum<T>;
  using P = Packed<T>;
  static constexpr long unit = steps_per_unit<T>, pitch = lane_pitch<A>, much = 256 << 10;  // bytes

 public:
  static constexpr bool packs = true;

  ChannelsLastConv(const ConvPlan& c, void* workspace) : c_(c), at_(channels_last_scratch<T>(c, workspace)) {
    at_.starts[0] = 0;
  }

  /// Appends a tap to the phase that is being described: where its weight of plane 0 is, which pixel it meets for pixel
  /// 0 of the result.
  void add(long weight, long y, long x) {
    at_.taps[count_++] = {
        std::int32_t(weight), std::int32_t(c_.image.offset(0, y, x)), std::int32_t(y), std::int32_t(x), 0, 0};
  }
  void end_phase() {
    const long first = at_.starts[phase_];
    for (long t = first; t < count_; ++t)
      at_.taps[t].step = std::int32_t(first * c_.image.planes + t - first),
      at_.taps[t].steps = std::int32_t(count_ - first);
    at_.starts[++phase_] = count_;
  }

  /// Packs the weights of `rows` result channels, which run() then finds `packed` channels after the first.
  [[gnu::noinline]] void pack(const T* weight, long rows) {
    const bool joined = c_.plane_step == count_;  // the weights of a row follow each other
    const long channels = unit == 1 ? c_.image.planes : c_.image.planes + c_.source.seconds,
               pieces = joined ? 1 : channels, length = joined ? channels * count_ : count_;
    lanes_ = rows, finite_ = true;
    for (long p = 0; p < pieces; ++p)
      for (long j = 0, width, index = 0; j < rows; j += width, ++index) {
        width = panel_width(j);
        const long own = width < rows - j ? width : rows - j;
        const T* const from = weight + p * c_.plane_step + j * c_.row_step;
        finite_ = finite_ && all_finite(from, (own - 1) * c_.row_step + length);
        if constexpr (unit == 1)
          if (phase_ == 1)
            copy_matrix(from, 1, c_.row_step, panel(index) + p * length * pitch, pitch, length, own, width);
      }
    if (unit == 1 && phase_ == 1) return;
    for (long j = 0, width, index = 0; j < rows; j += width, ++index) {
      width = panel_width(j);
      for (long lane = 0; lane < width; lane += packed_rows) {
        const long left = rows - j - lane, own = left < packed_rows ? left : packed_rows;
        for (long i = 0; i < own; ++i, weight += c_.row_step) pack_row(weight, at_.rows + i * c_.steps);
        transpose_copy(at_.rows, c_.steps, panel(index) + lane, pitch, own > 0 ? own : 0, c_.steps, packed_rows);
      }
    }
  }

  struct Samples {
    long count, from_step, to_step;  // distances of two samples
  };
  /// Result channels of some samples, the first of which is the one that lies `packed` channels after the first packed
  /// one. next: as `from`, of the samples that come then, if there are any.
  [[gnu::noinline]] void run(const T* from, T* to, long rows, long packed, const Samples& samples, const T* next) {
    Source source{at_.image, c_.image.elements(), c_.image.plane(), c_.image.pitch, 1, false};
    if constexpr (std::is_same_v<T, P>)
      if (reads_directly(samples.count))
        source = {from, samples.from_step, c_.source.step, c_.image.step_h * c_.image.w, c_.image.step_w, true};
    for (long k = 0; k < samples.count; ++k) clear_untouched(c_, at_.starts, to + k * samples.to_step, rows);
    for (long i0 = 0; i0 < c_.grid_h; i0 += c_.band) {
      if constexpr (std::is_same_v<T, P>) {
        if (source.direct) source.pixels = from + i0 * source.row;
        const long beyond = i0 + c_.band,
                   rows_ahead = c_.band * c_.image.step_h < c_.image.h ? c_.band * c_.image.step_h : c_.image.h;
        const T* const ahead = beyond < c_.grid_h ? from + beyond * source.row : next;
        source_.begin(ahead, source.direct && ahead ? rows_ahead * c_.image.w * long(sizeof(T)) : 0,
                      source.plane * long(sizeof(T)), c_.image.planes,
                      c_.band * c_.grid_w * c_.steps * rows / simd_width<A>);
      }
      if (!source.direct) {
        if (!cleared_ || c_.band < c_.grid_h) clear(at_.image, samples_together(c_) * c_.image.elements());
        cleared_ = true;
        for (long k = 0; k < samples.count; ++k)
          fill_padded(c_.image, c_.source, from + k * samples.from_step, i0 * c_.image.step_h,
                      at_.image + k * c_.image.elements());
      }
      for (int phase = 0; phase < c_.phases(); ++phase) run_phase(source, to, rows, packed, i0, phase, samples);
    }
  }

 private:
  // Where pixels are read, and the distances of two samples, planes, rows of the result, columns of it. direct: in the
  // operand itself.
  struct Source {
    const P* pixels;
    long sample, plane, row, column;
    bool direct;
  };
  // Pixels that meet the same taps: their rows in the sums, and the taps of one plane, listed for several.
  struct Class {
    const Tap* list;
    long taps, first, pixels;
  };
  // Parts of an axis of the result, from place first[i] to first[i + 1]. The same taps, met[i] of them, meet the image
  // along the axis in all of a part. Or all taps are taken in the only part, padding or not.
  struct Parts {
    bool all;
    long count, first[most_parts + 1], met[most_parts];
  };
  static Parts whole(long places, long taps) { return {true, 1, {0, places}, {taps}}; }
  struct Phase {
    // the first row and column of the result; the first row of the grid, how many rows and columns of it
    long h, w, i0, grid_h, grid_w;
    const PlaneTap *begin, *end;
    long taps() const { return end - begin; }
  };

  Phase phase_of(int number, long i0, long rows) const {
    const long h = number / c_.step_w, w = number % c_.step_w, left = ceil_div(c_.height - h, c_.step_h) - i0;
    return {h,
            w,
            i0,
            left < rows ? left : rows,
            ceil_div(c_.width - w, c_.step_w),
            at_.taps + at_.starts[number],
            at_.taps + at_.starts[number + 1]};
  }
  // Rows of the next tile: so many that one kernel does them.
  static constexpr long next_rows(long left) {
    if (tile_rows < 8) return ceil_div(left, ceil_div(left, tile_rows));
    return left == 9 || left == 10 || left == 12 ? 6 : left >= 8 ? 8 : left == 7 ? 4 : left == 5 ? 3 : left;
  }
  // Panels are as wide as tiles. Each has its own place, where steps are `pitch` lanes apart.
  long panel_width(long lane) const { return filled_columns<A>(round_up(lanes_, tile_step<A>) - lane); }
  P* panel(long number) const { return at_.weight + number * c_.steps * pitch; }

  void pack_row(const T* weight, P* to) const {
    for (long p = 0; p < c_.image.planes; ++p, weight += unit * c_.plane_step) {
      if constexpr (unit == 2) {
        const T* const second = p < c_.source.seconds ? weight + c_.plane_step : nullptr;
        if (phase_ == 1) pack_short_pairs(weight, second, count_, to + p * count_);
        else
          for (const PlaneTap* tap = at_.taps; tap != at_.taps + count_; ++tap)
            to[tap->step + p * tap->steps] = one_pair(weight + tap->weight, second ? second + tap->weight : nullptr);
      } else {
        for (const PlaneTap* tap = at_.taps; tap != at_.taps + count_; ++tap)
          to[tap->step + p * tap->steps] = weight[tap->weight];
      }
    }
  }

  // Parts of places i0, i0 + 1, ... at(tap): the place, counted from where the padding begins, that a tap meets for
  // place 0 of the result.
  template <class At>
  Parts parts_of(const Phase& phase, long i0, long places, long step, long before, long extent, At at) const {
    Parts parts{};
    for (long i = 0, last_below = -1, last_beyond = -1; i < places; ++i) {
      long below = 0, beyond = 0;
      for (const PlaneTap* tap = phase.begin; tap != phase.end; ++tap) {
        const long y = at(*tap) + (i0 + i) * step - before;
        below += y < 0, beyond += y >= extent;
      }
      if (below == last_below && beyond == last_beyond) continue;
      if (parts.count == most_parts) return whole(places, phase.taps());
      parts.met[parts.count] = phase.taps() - below - beyond;
      parts.first[parts.count++] = i, last_below = below, last_beyond = beyond;
    }
    parts.first[parts.count] = places;
    return parts;
  }
  // Cycles per plane and vector, about: taps that a class leaves out count, and tiles of few pixels that wait for their
  // operands.
  static long cycles(const Phase& phase, const Parts& rows, const Parts& columns, long samples) {
    long all = 0;
    for (long i = 0; i < rows.count; ++i)
      for (long j = 0; j < columns.count; ++j) {
        const long pixels = samples * (rows.first[i + 1] - rows.first[i]) * (columns.first[j + 1] - columns.first[j]),
                   tiles = ceil_div(pixels, tile_rows), few = 2 * tiles;
        all += rows.met[i] * columns.met[j] * (pixels < few ? few : pixels);
      }
    return all / (phase.taps() > 0 ? phase.taps() : 1);
  }
  // Parts in which all pixels meet the same taps.
  void find_parts(const Phase& phase, Parts& rows, Parts& columns) const {
    rows = parts_of(phase, phase.i0, phase.grid_h, c_.image.step_h, c_.image.top, c_.image.h,
                    [](const PlaneTap& tap) { return tap.y; });
    columns = parts_of(phase, 0, phase.grid_w, c_.image.step_w, c_.image.left, c_.image.w,
                       [](const PlaneTap& tap) { return tap.x; });
  }
  // Parts that take the least time, where taps may meet padding.
  void choose_parts(const Phase& phase, long samples, Parts& rows, Parts& columns) const {
    const Parts all_rows = whole(phase.grid_h, phase.taps()), all_columns = whole(phase.grid_w, phase.taps());
    Parts some_rows = all_rows, some_columns = all_columns;
    if (finite_) find_parts(phase, some_rows, some_columns);
    rows = all_rows, columns = all_columns;
    long least = cycles(phase, rows, columns, samples);
    const auto consider = [&](const Parts& h, const Parts& w) {
      if (const long own = cycles(phase, h, w, samples); own < least) least = own, rows = h, columns = w;
    };
    consider(some_rows, all_columns), consider(all_rows, some_columns), consider(some_rows, some_columns);
  }
  // Taps of one plane that all lists hold together.
  static long listed(const Phase& phase, const Parts& rows, const Parts& columns) {
    long taps = 0;
    for (long i = 0; i < rows.count && phase.taps() > 0; ++i)
      for (long j = 0; j < columns.count; ++j) taps += rows.met[i] * columns.met[j] / phase.taps();
    return taps;
  }
  // Whether pixels are read in the operand itself: then there is no padding to be met. That must not take much longer.
  bool reads_directly(long samples) const {
    for (int number = 0; number < phase_ && !c_.in_place; ++number) {
      const Phase phase = phase_of(number, 0, c_.grid_h);
      Parts rows, columns, chosen_rows, chosen_columns;
      find_parts(phase, rows, columns), choose_parts(phase, samples, chosen_rows, chosen_columns);
      if (!finite_ || rows.all || columns.all || !fits(listed(phase, rows, columns))) return false;
      if (cycles(phase, rows, columns, samples) * 16 > cycles(phase, chosen_rows, chosen_columns, samples) * 17)
        return false;
    }
    return true;
  }

  // Calls body(class, first row, rows, first column, columns, meets) for each class of pixels, where meets(tap) is
  // whether they meet it.
  template <class Body>
  void each_class(const Phase& phase, const Parts& rows, const Parts& columns, Body&& body) {
    for (long i = 0; i < rows.count; ++i)
      for (long j = 0; j < columns.count; ++j) {
        const auto meets = [&](const PlaneTap& tap) {
          const long y = (phase.i0 + rows.first[i]) * c_.image.step_h + tap.y - c_.image.top,
                     x = columns.first[j] * c_.image.step_w + tap.x - c_.image.left;
          return (rows.all || (y >= 0 && y < c_.image.h)) && (columns.all || (x >= 0 && x < c_.image.w));
        };
        body(classes_[i * columns.count + j], rows.first[i], rows.first[i + 1], columns.first[j], columns.first[j + 1],
             meets);
      }
  }
  // Whether lists of this many taps of one plane fit, for the planes of a segment if there are several.
  bool fits(long listed) const { return listed * (c_.segments ? c_.segment : 1) <= channels_last_list(c_); }
  // Lists the taps of each class for as many planes as are computed at a time, which it returns.
  long list_classes(const Source& source, const Phase& phase, Parts& rows, Parts& columns) {
    const long taps = phase.taps();
    long listed = ChannelsLastConv::listed(phase, rows, columns);
    if (!fits(listed)) rows = whole(phase.grid_h, taps), columns = whole(phase.grid_w, taps), listed = taps;
    const long wanted = ceil_div(steps_at_once, taps > 0 ? taps : 1),
               fitting = channels_last_list(c_) / (listed > 0 ? listed : 1);
    const long most = wanted < fitting ? wanted : fitting,
               even = ceil_div(c_.image.planes, ceil_div(c_.image.planes, most));
    const long planes = c_.segments ? c_.segment : even;
    Tap* to = at_.list;
    each_class(phase, rows, columns, [&](Class& own, long, long, long, long, auto meets) {
      own.list = to;
      for (const PlaneTap* tap = phase.begin; tap != phase.end; ++tap)
        if (meets(*tap))
          *to++ = {
              source.direct ? std::int32_t((tap->y - c_.image.top) * c_.image.w + tap->x - c_.image.left) : tap->pixel,
              std::int32_t((tap - phase.begin) * pitch)};
      own.taps = to - own.list;
      for (long t = 0; t < (planes - 1) * own.taps; ++t, ++to)
        *to = {std::int32_t(own.list[t].a + source.plane), std::int32_t(own.list[t].b + taps * pitch)};
    });
    return planes;
  }

  void run_phase(const Source& source, T* to, long rows, long packed, long i0, int number, const Samples& samples) {
    const Phase phase = phase_of(number, i0, c_.band);
    const long taps = phase.taps();
    if (phase.grid_h <= 0 || phase.grid_w <= 0 || taps == 0) return;
    Parts parts_h, parts_w;
    if (source.direct && !c_.in_place) find_parts(phase, parts_h, parts_w);
    else choose_parts(phase, samples.count, parts_h, parts_w);
    const long at_once = list_classes(source, phase, parts_h, parts_w), classes = parts_h.count * parts_w.count;
    std::int32_t row[most_tile_pixels], place[most_tile_pixels];
    long at = 0;
    each_class(phase, parts_h, parts_w, [&](Class& own, long y0, long y1, long x0, long x1, auto) {
      own.first = at;
      for (long k = 0; k < samples.count; ++k)
        for (long y = y0; y < y1; ++y)
          for (long x = x0; x < x1; ++x, ++at) {
            row[at] = std::int32_t(k * source.sample + y * source.row + x * source.column);
            place[(k * phase.grid_h + y) * phase.grid_w + x] = std::int32_t(at * pitch);
          }
      own.pixels = at - own.first;
    });
    for (long j = 0, width, index = 0; j < packed + rows; j += width, ++index) {
      width = panel_width(j);
      if (j + width <= packed) continue;
      const long first = j > packed ? j : packed, last = j + width < packed + rows ? j + width : packed + rows,
                 plane = c_.height * c_.width;
      T* const out = to + (first - packed) * plane;
      if (plane * c_.rows * long(sizeof(T)) >= much && c_.phases() == 1 && samples.count == 1)
        result_.begin(out + i0 * c_.width, phase.grid_h * c_.width * long(sizeof(T)), plane * long(sizeof(T)),
                      last - first, at * c_.steps);
      const P* const weights = panel(index) + at_.starts[number] * c_.image.planes * pitch;
      for (long p = 0; p == 0 || p < c_.image.planes; p += at_once) {
        const long planes = at_once < c_.image.planes - p ? at_once : c_.image.planes - p;
        for (const Class* own = classes_; own != classes_ + classes; ++own) {
          const long end = own->first + own->pixels;
          for (long pixel = own->first, count; pixel < end; pixel += count) {
            count = next_rows(end - pixel);
            source_.fetch(count * planes * own->taps * width / simd_width<A>),
                result_.template fetch<true>(count * planes * own->taps);
            run_tile(Tile<A, P>{own->list, planes * own->taps, source.pixels + p * source.plane, row + pixel,
                                weights + p * taps * pitch, at_.sums + pixel * pitch, pitch, p > 0 && !c_.segments,
                                p > 0 && c_.segments},
                     int(count), width);
          }
        }
      }
      write(phase, place, first - j, last - first, out, samples);
    }
  }

  // Writes lanes first .. first + lanes - 1 of the sums as planes of the result.
  [[gnu::noinline]] void write(const Phase& phase, const std::int32_t* place, long first, long lanes, T* to,
                               const Samples& samples) {
    const long plane = c_.height * c_.width, own = phase.grid_h * phase.grid_w;
    if (c_.phases() == 1) {
      for (long k = 0; k < samples.count; ++k)
        transpose_sums(at_.sums + first, place + k * own, own, lanes, to + k * samples.to_step + phase.i0 * c_.width,
                       plane);
      return;
    }
    T* const planes = reinterpret_cast<T*>(at_.rows);
    transpose_sums(at_.sums + first, place, samples.count * own, lanes, planes, samples.count * own);
    const T* from = planes;
    for (long l = 0; l < lanes; ++l)
      for (long k = 0; k < samples.count; ++k) {
        T* out = to + k * samples.to_step + l * plane + (phase.i0 * c_.step_h + phase.h) * c_.width + phase.w;
        for (long y = 0; y < phase.grid_h; ++y, from += phase.grid_w, out += c_.step_h * c_.width)
          if (std::is_same_v<T, A> && c_.step_w <= 2 && phase.grid_w > simd_width<A>)
            write_row(from, out, phase.grid_w);
          else
            for (long x = 0; x < phase.grid_w; ++x) out[x * c_.step_w] = from[x];
      }
  }
  // A row of vectors, with a stride of at most 2.
  [[gnu::noinline]] void write_row(const T* from, T* to, long count) const {
    if constexpr (std::is_same_v<T, A>) {
      if (c_.step_w == 1) copy_row(from, to, count);
      else spread_sums(from, to, count, c_.step_w);
    }
  }
  // to[l * to_row + i] = sums[place[i] + l], rounded once; float32 + 0, as DirectConv does.
  static void transpose_sums(const A* sums, const std::int32_t* place, long pixels, long lanes, T* to, long to_row) {
    constexpr int side = simd_width<A> < packed_rows ? simd_width<A> : packed_rows;
    using V = Simd<A, side>;
    long l = 0;
    for (; l + side <= lanes && pixels >= side; l += side)
      for (long i = 0; i < pixels; i += side) {
        if (i + side > pixels) i = pixels - side;  // overlaps the ones before
        V square[side];
#pragma GCC unroll 8
        for (int s = 0; s < side; ++s) square[s] = V::load(sums + place[i + s] + l) + V(A(0));
        transpose_lanes(square);
#pragma GCC unroll 8
        for (int s = 0; s < side; ++s) store_lanes(square[s], to + (l + s) * to_row + i);
      }
    for (; l < lanes; ++l)
      for (long i = 0; i < pixels; ++i) to[l * to_row + i] = narrowed<T>(sums[place[i] + l] + A(0));
  }

  const ConvPlan& c_;
  const ChannelsLastScratch<T> at_;
  long count_ = 0, lanes_ = 0;
  int phase_ = 0;
  bool cleared_ = false;   // the padding stays zero
  bool finite_ = false;    // then taps that meet padding change nothing but the sign of a zero
  Ahead source_, result_;  // what is read and written next
  Class classes_[most_parts * most_parts];
};
}  // namespace tenon::kernel::detail
TENON_EXACT_END
