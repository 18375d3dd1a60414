// The correlation of correlate.hpp with result channels as the lanes of vectors and pixels as the rows of a tile.
#pragma once
#include <tenon/kernel/cpu/correlation_runs.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// A pixel has the taps that meet the image and no others, because pixels of a tile need not be neighbours: those that meet the same
// taps go together. The chains are those of Correlator.
template <class T>
class LaneCorrelator {
  using A = Compute<T>;
  using P = Packed<T>;
  static constexpr long unit = steps_per_unit<T>, pitch = lane_pitch<A>;

 public:
  static constexpr bool packs = true;

  LaneCorrelator(const Correlation& c, void* workspace) : c_(c) {
    const LaneScratch scratch = lane_scratch<T>(c);
    char* const base = static_cast<char*>(workspace);
    taps_ = reinterpret_cast<PlaneTap*>(base);
    starts_ = reinterpret_cast<long*>(base + scratch.starts);
    list_ = reinterpret_cast<Tap*>(base + scratch.list);
    sums_ = reinterpret_cast<A*>(base + scratch.sums);
    weight_ = reinterpret_cast<P*>(base + scratch.weight);
    rows_ = reinterpret_cast<P*>(base + scratch.rows);
    image_ = reinterpret_cast<P*>(base + scratch.image);
    starts_[0] = 0;
  }

  /// Appends a tap to the phase that is being described: where its weight of plane 0 is, which pixel it meets for pixel 0 of the result.
  void add(long weight, long y, long x) { taps_[count_++] = {std::int32_t(weight), std::int32_t(c_.image.offset(0, y, x)), std::int32_t(y), std::int32_t(x), 0, 0}; }
  void end_phase() {
    const long first = starts_[phase_];
    for (long t = first; t < count_; ++t) taps_[t].step = std::int32_t(first * c_.image.planes + t - first), taps_[t].steps = std::int32_t(count_ - first);
    starts_[++phase_] = count_;
  }

  /// Packs the weights of `rows` result channels, which run() then finds `packed` channels behind the first.
  [[gnu::noinline]] void pack(const T* weight, long rows) {
    const bool joined = c_.plane_step == count_;  // the weights of a row follow each other
    const long channels = unit == 1 ? c_.image.planes : c_.image.planes + c_.source.seconds, pieces = joined ? 1 : channels, length = joined ? channels * count_ : count_;
    lanes_ = rows, finite_ = true;
    for (long p = 0; p < pieces; ++p)
      for (long j = 0, width, index = 0; j < rows; j += width, ++index) {
        width = panel_width(j);
        const long own = width < rows - j ? width : rows - j;
        const T* const from = weight + p * c_.plane_step + j * c_.row_step;
        finite_ = finite_ && all_finite(from, (own - 1) * c_.row_step + length);
        if constexpr (unit == 1)
          if (phase_ == 1) copy_matrix(from, 1, c_.row_step, panel(index) + p * length * pitch, pitch, length, own, width);
      }
    if (unit == 1 && phase_ == 1) return;
    for (long j = 0, width, index = 0; j < rows; j += width, ++index) {
      width = panel_width(j);
      for (long lane = 0; lane < width; lane += packed_rows) {
        const long left = rows - j - lane, own = left < packed_rows ? left : packed_rows;
        for (long i = 0; i < own; ++i, weight += c_.row_step) pack_row(weight, rows_ + i * c_.steps);
        transpose_copy(rows_, c_.steps, panel(index) + lane, pitch, own > 0 ? own : 0, c_.steps, packed_rows);
      }
    }
  }

  struct Samples {
    long count, from_step, to_step;  // distances of two samples
  };
  /// Result channels of some samples, the first of which is the one that lies `packed` channels behind the first packed one.
  [[gnu::noinline]] void run(const T* from, T* to, long rows, long packed, const Samples& samples) {
    const P* pixels = image_;
    long image_step = c_.image.elements();
    if constexpr (std::is_same_v<T, P>)
      if (c_.in_place) pixels = from, image_step = samples.from_step;
    if (!c_.in_place) {
      if (!cleared_) clear(image_, samples_together(c_) * image_step);
      cleared_ = true;
      for (long k = 0; k < samples.count; ++k) fill_padded(c_.image, c_.source, from + k * samples.from_step, 0, image_ + k * image_step);
    }
    for (int phase = 0; phase < c_.step_h * c_.step_w; ++phase) run_phase(pixels, image_step, to, rows, packed, phase, samples);
  }

 private:
  // Pixels that meet the same taps: their rows in the sums, and the taps of one plane, listed for several.
  struct Class {
    const Tap* list;
    long taps, first, pixels;
  };
  // Parts of an axis of the result, from place first[i] to first[i + 1]. The same taps, met[i] of them, meet the image along the axis
  // in all of a part. Or all taps are taken in the only part, padding or not.
  struct Parts {
    bool all;
    long count, first[most_parts + 1], met[most_parts];
  };
  static Parts whole(long places, long taps) { return {true, 1, {0, places}, {taps}}; }
  struct Phase {
    long h, w, grid_h, grid_w;  // the first row and column of the result, how many there are
    const PlaneTap *begin, *end;
    long taps() const { return end - begin; }
  };

  // Rows of the next tile: so many that one kernel does them.
  static constexpr long next_rows(long left) {
    if (tile_rows < 8) return ceil_div(left, ceil_div(left, tile_rows));
    return left == 9 || left == 10 || left == 12 ? 6 : left >= 8 ? 8 : left == 7 ? 4 : left == 5 ? 3 : left;
  }
  // Panels are as wide as tiles. Each has its own place, where steps are `pitch` lanes apart.
  long panel_width(long lane) const { return filled_columns<A>(round_up(lanes_, tile_step<A>) - lane); }
  P* panel(long number) const { return weight_ + number * c_.steps * pitch; }

  void pack_row(const T* weight, P* to) const {
    for (long p = 0; p < c_.image.planes; ++p, weight += unit * c_.plane_step) {
      if constexpr (unit == 2) {
        const T* const second = p < c_.source.seconds ? weight + c_.plane_step : nullptr;
        if (phase_ == 1) pack_short_pairs(weight, second, count_, to + p * count_);
        else
          for (const PlaneTap* tap = taps_; tap != taps_ + count_; ++tap) to[tap->step + p * tap->steps] = one_pair(weight + tap->weight, second ? second + tap->weight : nullptr);
      } else {
        for (const PlaneTap* tap = taps_; tap != taps_ + count_; ++tap) to[tap->step + p * tap->steps] = weight[tap->weight];
      }
    }
  }

  // at(tap): the place, counted from where the padding begins, that a tap meets for place 0 of the result.
  template <class At>
  Parts parts_of(const Phase& phase, long places, long step, long before, long extent, At at) const {
    Parts parts{};
    for (long i = 0, last_below = -1, last_beyond = -1; i < places; ++i) {
      long below = 0, beyond = 0;
      for (const PlaneTap* tap = phase.begin; tap != phase.end; ++tap) {
        const long y = at(*tap) + i * step - before;
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
  // Cycles per plane and vector, about: taps that a class leaves out count, and tiles of few pixels that wait for their operands.
  static long cycles(const Phase& phase, const Parts& rows, const Parts& columns, long samples) {
    long all = 0;
    for (long i = 0; i < rows.count; ++i)
      for (long j = 0; j < columns.count; ++j) {
        const long pixels = samples * (rows.first[i + 1] - rows.first[i]) * (columns.first[j + 1] - columns.first[j]), tiles = ceil_div(pixels, tile_rows), few = 2 * tiles;
        all += rows.met[i] * columns.met[j] * (pixels < few ? few : pixels);
      }
    return all / (phase.taps() > 0 ? phase.taps() : 1);
  }
  // The parts of both axes that take the least time.
  void choose_parts(const Phase& phase, long samples, Parts& rows, Parts& columns) const {
    const Parts all_rows = whole(phase.grid_h, phase.taps()), all_columns = whole(phase.grid_w, phase.taps());
    rows = all_rows, columns = all_columns;
    if (!finite_) return;
    const Parts some_rows = parts_of(phase, phase.grid_h, c_.image.step_h, c_.image.top, c_.image.h, [](const PlaneTap& tap) { return tap.y; });
    const Parts some_columns = parts_of(phase, phase.grid_w, c_.image.step_w, c_.image.left, c_.image.w, [](const PlaneTap& tap) { return tap.x; });
    long least = cycles(phase, rows, columns, samples);
    const auto consider = [&](const Parts& h, const Parts& w) {
      if (const long own = cycles(phase, h, w, samples); own < least) least = own, rows = h, columns = w;
    };
    consider(some_rows, all_columns), consider(all_rows, some_columns), consider(some_rows, some_columns);
  }

  // Calls body(class, first row, rows, first column, columns, meets) for each class of pixels, where meets(tap) is whether they meet it.
  template <class Body>
  void each_class(const Parts& rows, const Parts& columns, Body&& body) {
    for (long i = 0; i < rows.count; ++i)
      for (long j = 0; j < columns.count; ++j) {
        const auto meets = [&](const PlaneTap& tap) {
          const long y = rows.first[i] * c_.image.step_h + tap.y - c_.image.top, x = columns.first[j] * c_.image.step_w + tap.x - c_.image.left;
          return (rows.all || (y >= 0 && y < c_.image.h)) && (columns.all || (x >= 0 && x < c_.image.w));
        };
        body(classes_[i * columns.count + j], rows.first[i], rows.first[i + 1], columns.first[j], columns.first[j + 1], meets);
      }
  }
  // Lists the taps of each class for as many planes as are computed at a time, which it returns.
  long list_classes(const Phase& phase, Parts& rows, Parts& columns) {
    const long taps = phase.taps();
    long listed = 0;
    for (long i = 0; i < rows.count * columns.count && taps > 0; ++i) listed += rows.met[i / columns.count] * columns.met[i % columns.count] / taps;
    if (listed > lane_list(c_)) rows = whole(phase.grid_h, taps), columns = whole(phase.grid_w, taps), listed = taps;
    const long wanted = ceil_div(steps_at_once, taps > 0 ? taps : 1), fitting = lane_list(c_) / (listed > 0 ? listed : 1);
    const long most = wanted < fitting ? wanted : fitting, planes = ceil_div(c_.image.planes, ceil_div(c_.image.planes, most));
    Tap* to = list_;
    each_class(rows, columns, [&](Class& own, long, long, long, long, auto meets) {
      own.list = to;
      for (const PlaneTap* tap = phase.begin; tap != phase.end; ++tap)
        if (meets(*tap)) *to++ = {tap->pixel, std::int32_t((tap - phase.begin) * pitch)};
      own.taps = to - own.list;
      for (long t = 0; t < (planes - 1) * own.taps; ++t, ++to) *to = {std::int32_t(own.list[t].a + c_.image.plane()), std::int32_t(own.list[t].b + taps * pitch)};
    });
    return planes;
  }

  void run_phase(const P* pixels, long image_step, T* to, long rows, long packed, int number, const Samples& samples) {
    const int phase_h = number / c_.step_w, phase_w = number % c_.step_w;
    const Phase phase{phase_h, phase_w, ceil_div(c_.height - phase_h, c_.step_h), ceil_div(c_.width - phase_w, c_.step_w), taps_ + starts_[number], taps_ + starts_[number + 1]};
    if (phase.grid_h <= 0 || phase.grid_w <= 0) return;
    const long taps = phase.taps();
    Parts parts_h, parts_w;
    choose_parts(phase, samples.count, parts_h, parts_w);
    const long at_once = list_classes(phase, parts_h, parts_w), classes = parts_h.count * parts_w.count;
    std::int32_t row[most_pixels], place[most_pixels];
    long at = 0;
    each_class(parts_h, parts_w, [&](Class& own, long y0, long y1, long x0, long x1, auto) {
      own.first = at;
      for (long k = 0; k < samples.count; ++k)
        for (long y = y0; y < y1; ++y)
          for (long x = x0; x < x1; ++x, ++at) {
            row[at] = std::int32_t(k * image_step + y * c_.image.pitch + x);
            place[(k * phase.grid_h + y) * phase.grid_w + x] = std::int32_t(at * pitch);
          }
      own.pixels = at - own.first;
    });
    for (long j = 0, width, index = 0; j < packed + rows; j += width, ++index) {
      width = panel_width(j);
      if (j + width <= packed) continue;
      const P* const weights = panel(index) + starts_[number] * c_.image.planes * pitch;
      for (long p = 0; p == 0 || p < c_.image.planes; p += at_once) {
        const long planes = at_once < c_.image.planes - p ? at_once : c_.image.planes - p;
        for (const Class* own = classes_; own != classes_ + classes; ++own) {
          const long last = own->first + own->pixels;
          for (long first = own->first, count; first < last; first += count) {
            count = next_rows(last - first);
            run_tile(Tile<A, P>{own->list, planes * own->taps, pixels + p * c_.image.plane(), row + first, weights + p * taps * pitch, sums_ + first * pitch, pitch, p > 0}, int(count), width);
          }
        }
      }
      const long first = j > packed ? j : packed, last = j + width < packed + rows ? j + width : packed + rows;
      write(phase, place, first - j, last - first, to + (first - packed) * c_.height * c_.width, samples);
    }
  }

  // Writes lanes first .. first + lanes - 1 of the sums as planes of the result.
  [[gnu::noinline]] void write(const Phase& phase, const std::int32_t* place, long first, long lanes, T* to, const Samples& samples) {
    const long plane = c_.height * c_.width, own = phase.grid_h * phase.grid_w;
    if (c_.step_h * c_.step_w == 1) {
      for (long k = 0; k < samples.count; ++k) transpose_sums(sums_ + first, place + k * own, own, lanes, to + k * samples.to_step, plane);
      return;
    }
    T* const planes = reinterpret_cast<T*>(rows_);
    transpose_sums(sums_ + first, place, samples.count * own, lanes, planes, samples.count * own);
    for (long l = 0; l < lanes; ++l)
      for (long k = 0; k < samples.count; ++k)
        for (long y = 0; y < phase.grid_h; ++y) {
          const T* const from = planes + (l * samples.count + k) * own + y * phase.grid_w;
          T* const out = to + k * samples.to_step + l * plane + (y * c_.step_h + phase.h) * c_.width + phase.w;
          for (long x = 0; x < phase.grid_w; ++x) out[x * c_.step_w] = from[x];
        }
  }
  // to[l * to_row + i] = sums[place[i] + l], rounded once; float32 + 0, as Correlator does.
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
        transpose(square);
#pragma GCC unroll 8
        for (int s = 0; s < side; ++s) store_lanes(square[s], to + (l + s) * to_row + i);
      }
    for (; l < lanes; ++l)
      for (long i = 0; i < pixels; ++i) to[l * to_row + i] = narrowed<T>(sums[place[i] + l] + A(0));
  }

  const Correlation& c_;
  long count_ = 0, lanes_ = 0;
  int phase_ = 0;
  bool cleared_ = false;  // the padding stays zero
  bool finite_ = false;   // then taps that meet padding change nothing but the sign of a zero
  PlaneTap* taps_;
  long* starts_;
  Tap* list_;
  A* sums_;
  P *weight_, *rows_, *image_;
  Class classes_[most_parts * most_parts];
};
}  // namespace tenon::kernel::detail
TENON_EXACT_END
