// Attention of one head: softmax(scale q kᵀ) v and its gradients, a few rows of scores at a time.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/backend/cpu/reduce/runs.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/attention/row.hpp>
#include <tenon/backend/cpu/gemm/pack.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// What the heads of a call have in common: queries, keys, features of a head. Causal: query i sees the keys 0 .. i
/// only.
struct AttentionShape {
  long queries, keys, width;
  bool causal;
};

/// One operand of one head: feature f of row t is data[t * pitch + f].
template <class T>
struct HeadRows {
  T* data;
  long pitch;
};

namespace detail {
/// Queries whose scores are held at a time by the backward pass, at most, and by one item of the forward pass.
inline constexpr long attention_block = 64;

/// Rows of `columns` elements that tiles may read and write: room for the last tile, and an odd number of cache lines,
/// so that rows do not compete for the same places of a cache.
template <class A>
constexpr long tiled_pitch(long columns) {
  constexpr long line = 64 / long(sizeof(A)),
                 room = tile_columns<A>(2) > reduce_lanes ? tile_columns<A>(2) : reduce_lanes;
  return (ceil_div(columns + room, line) | 1) * line;
}
/// Columns of a panel: the transposed keys and values are packed in panels, so that a tile reads them one after the
/// other.
template <class A>
inline constexpr long attention_panel = tile_columns<A>(2);
/// Rows that are too far apart for many of them to be read again and again are copied side by side.
inline constexpr long attention_far = 256;

/// True if tiles cover exactly these columns, so that they may work where an operand lies.
template <class A>
constexpr bool tiles_fit(long columns) {
  while (columns > 0) columns -= covered_columns<A>(columns);
  return columns == 0;
}

/// Places in the workspace, in bytes from its start.
struct AttentionScratch {
  std::size_t taps, keys, values, weights, slopes, segments, copies, total;
};
template <class T>
constexpr AttentionScratch attention_scratch(const AttentionShape& s, bool backward) {
  using A = Compute<T>;
  const auto bytes = [](long elements, std::size_t size) { return std::size_t(round_up(elements * long(size), 64)); };
  const long across = tiled_pitch<A>(s.keys), along = tiled_pitch<A>(s.width);
  const long rows = backward ? attention_block : tile_rows;
  const long panels = round_up(s.keys, attention_panel<A>);
  const bool in_place = std::is_same_v<A, T> && tiles_fit<A>(s.width), near = in_place && s.keys < attention_far;
  AttentionScratch at{};
  at.keys = at.taps + bytes(s.width + s.keys + 2 * attention_block, sizeof(Tap));
  at.values = at.keys + bytes(s.width * panels, sizeof(A));
  at.weights = at.values + (backward ? bytes(s.width * panels, sizeof(A)) : 0);
  at.slopes = at.weights + bytes(rows * across, sizeof(A));
  at.segments = at.slopes + (backward ? bytes(rows * across, sizeof(A)) : 0);
  at.copies = at.segments + (backward && s.queries > segment_units<A> ? bytes(2 * s.keys * along, sizeof(A)) : 0);
  const long copied = (near ? 0 : s.keys) + (in_place ? 0 : backward ? 3 * s.queries + 2 * s.keys : 2 * s.queries);
  at.total = at.copies + bytes(copied * along, sizeof(A));
  return at;
}

template <class T>
class AttentionHead {
  using A = Compute<T>;

 public:
  AttentionHead(const AttentionShape& shape, A scale, void* workspace, bool backward);

  /// What all rows of a head share: call it before forward().
  void prepare(HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v);
  /// Results of queries begin .. end - 1; begin is a multiple of attention_block, at which tiles begin anew: what a
  /// tile's rows have in common (keys that some of them do not see weigh 0) depends on no part of a thread.
  void forward(HeadRows<T> y, long begin, long end);

  /// Gradients of all operands for the gradient dy.
  void backward(HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v, HeadRows<const T> dy, HeadRows<T> dq,
                HeadRows<T> dk, HeadRows<T> dv);

 private:
  static constexpr bool same_type = std::is_same_v<A, T>;
  static constexpr long smaller(long a, long b) { return a < b ? a : b; }
  bool in_place() const { return same_type && tiles_fit<A>(shape_.width); }
  bool near() const { return in_place() && shape_.keys < attention_far; }
  /// Keys that the queries before `query` see.
  long seen(long query) const { return shape_.causal ? query : shape_.keys; }

  static void fill(Tap* taps, long count, long a, long b) {
    for (long p = 0; p < count; ++p) taps[p] = {std::int32_t(p * a), std::int32_t(p * b)};
  }
  A* take(long rows) {
    A* const place = free_;
    free_ += rows * width_pitch_;
    return place;
  }
  // The transpose in panels, zeros in the columns that the last one lacks.
  void pack(HeadRows<const T> x, A* to) const;
  // An operand as it lies, or a copy with room for whole tiles.
  HeadRows<const A> readable(HeadRows<const T> x, long rows) { return readable(x, rows, in_place()); }
  HeadRows<const A> readable(HeadRows<const T> x, long rows, bool as_it_lies);
  HeadRows<A> writable(HeadRows<T> y, long rows);
  void give(HeadRows<A> from, HeadRows<T> to, long begin, long end) const;

  // The softmax of the scores of queries i .. i + rows - 1.
  void weigh(long i, int rows, A* to) const;
  // Adds what queries first .. last - 1 give to the gradient of each key (or value): the transposed factors times x.
  // They are part of the segment of queries from `segment` on; the first segment goes straight to the gradient, a later
  // one has its own sums until it is complete.
  void gather_keys(long segment, long first, long last, const A* factors, const Tap* taps, HeadRows<const A> x,
                   HeadRows<A> to, A* sums) const;
  // Rows from `fresh` on have no sums of earlier segments.
  void add_segment(HeadRows<A> from, HeadRows<A> to, long rows, long fresh) const;

  const AttentionShape shape_;
  const A scale_;
  const long pitch_, width_pitch_;
  Tap *by_feature_, *by_key_, *by_query_, *by_gradient_;
  A *keys_, *values_, *weights_, *slopes_, *segments_, *copies_, *free_ = nullptr;
  HeadRows<const A> q_{}, v_{}, dy_{};
};
}  // namespace detail

#if TENON_DEFINES
namespace detail {
/// out = a · b, or a chain from out on to resume: element (i, j) is the sum of segments over the taps of a[i * a_row +
/// tap.a] * b[tap.b + j], or with panels b[j / panel * panel * count + tap.b + j % panel].
template <class A>
struct AttentionProduct {
  const Tap* taps;
  long count;
  const A* a;
  long a_row;
  const A* b;
  A* out;
  long out_row;
  bool resume, panels;
};
/// At most tile_rows rows; whole tiles of columns are written.
template <class A>
[[gnu::noinline]] void run_product(const AttentionProduct<A>& p, int rows, long columns) {
  std::int32_t row[tile_rows];
  for (int i = 0; i < tile_rows; ++i) row[i] = std::int32_t(i * p.a_row);
  Tile<A> tile{p.taps, p.count, p.a, row, p.b, p.out, p.out_row, p.resume};
  for (long j = 0; j < columns;) {
    const long left = columns - j,
               width = p.panels && left > attention_panel<A> ? attention_panel<A> : covered_columns<A>(left);
    run_segments(tile, rows, width);
    tile.b += p.panels ? width * p.count : width;
    tile.out += width, j += width;
  }
}

template <class T>
inline AttentionHead<T>::AttentionHead(const AttentionShape& shape, A scale, void* workspace, bool backward)
    : shape_(shape), scale_(scale), pitch_(tiled_pitch<A>(shape.keys)), width_pitch_(tiled_pitch<A>(shape.width)) {
  const AttentionScratch at = attention_scratch<T>(shape, backward);
  char* const base = static_cast<char*>(workspace);
  const auto array = [base](std::size_t offset) { return reinterpret_cast<A*>(base + offset); };
  by_feature_ = reinterpret_cast<Tap*>(base + at.taps);
  by_key_ = by_feature_ + shape.width;
  by_query_ = by_key_ + shape.keys;
  by_gradient_ = by_query_ + attention_block;
  keys_ = array(at.keys), values_ = array(at.values), weights_ = array(at.weights), slopes_ = array(at.slopes),
  segments_ = array(at.segments), copies_ = array(at.copies);
}
template <class T>
inline void AttentionHead<T>::prepare(HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v) {
  free_ = copies_;
  q_ = readable(q, shape_.queries), v_ = readable(v, shape_.keys, near());
  pack(k, keys_);
  fill(by_feature_, shape_.width, 1, attention_panel<A>);
  fill(by_key_, shape_.keys, 1, v_.pitch);
}
template <class T>
inline void AttentionHead<T>::forward(HeadRows<T> y, long begin, long end) {
  A* const before = free_;
  const HeadRows<A> out = writable(y, shape_.queries);
  for (long i = begin, rows; i < end; i += rows) {
    rows = smaller(smaller(end - i, attention_block - i % attention_block), tile_rows);
    weigh(i, int(rows), weights_);
    run_product<A>(
        {by_key_, seen(i + rows), weights_, pitch_, v_.data, out.data + i * out.pitch, out.pitch, false, false},
        int(rows), shape_.width);
  }
  give(out, y, begin, end);
  free_ = before;
}
template <class T>
inline void AttentionHead<T>::backward(HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v,
                                       HeadRows<const T> dy, HeadRows<T> dq, HeadRows<T> dk, HeadRows<T> dv) {
  free_ = copies_;
  q_ = readable(q, shape_.queries), dy_ = readable(dy, shape_.queries);
  const HeadRows<const A> rows_of_k = readable(k, shape_.keys, near());
  const HeadRows<A> to_q = writable(dq, shape_.queries), to_k = writable(dk, shape_.keys),
                    to_v = writable(dv, shape_.keys);
  pack(k, keys_), pack(v, values_);
  fill(by_feature_, shape_.width, 1, attention_panel<A>);
  fill(by_key_, shape_.keys, 1, rows_of_k.pitch);
  fill(by_query_, attention_block, pitch_, q_.pitch);
  fill(by_gradient_, attention_block, pitch_, dy_.pitch);
  for (long first = 0, last; first < shape_.queries; first = last) {
    const long segment = first / segment_units<A> * segment_units<A>, end = segment + segment_units<A>;
    last = smaller(smaller(shape_.queries, end), first + attention_block);
    for (long i = first; i < last; i += tile_rows) {
      const int rows = int(smaller(last - i, tile_rows));
      A *const weights = weights_ + (i - first) * pitch_, *const slopes = slopes_ + (i - first) * pitch_;
      weigh(i, rows, weights);
      run_product<A>(
          {by_feature_, shape_.width, dy_.data + i * dy_.pitch, dy_.pitch, values_, slopes, pitch_, false, true}, rows,
          seen(i + rows));
      for (int r = 0; r < rows; ++r)
        attention_slopes(weights + r * pitch_, slopes + r * pitch_, seen(i + r + 1),
                         round_up(seen(i + rows), reduce_lanes), scale_);
      run_product<A>({by_key_, seen(i + rows), slopes, pitch_, rows_of_k.data, to_q.data + i * to_q.pitch, to_q.pitch,
                      false, false},
                     rows, shape_.width);
    }
    gather_keys(segment, first, last, slopes_, by_query_, q_, to_k, segments_);
    gather_keys(segment, first, last, weights_, by_gradient_, dy_, to_v, segments_ + shape_.keys * width_pitch_);
  }
  give(to_q, dq, 0, shape_.queries), give(to_k, dk, 0, shape_.keys), give(to_v, dv, 0, shape_.keys);
}
template <class T>
inline void AttentionHead<T>::pack(HeadRows<const T> x, A* to) const {
  constexpr long panel = attention_panel<A>;
  for (long j = 0; j < shape_.keys; j += panel)
    copy_matrix(x.data + j * x.pitch, 1, x.pitch, to + j * shape_.width, panel, shape_.width,
                smaller(shape_.keys - j, panel), panel);
}
template <class T>
inline auto AttentionHead<T>::readable(HeadRows<const T> x, long rows, [[maybe_unused]] bool as_it_lies)
    -> HeadRows<const A> {
  if constexpr (same_type)
    if (as_it_lies) return x;
  A* const copy = take(rows);
  copy_matrix(x.data, x.pitch, 1, copy, width_pitch_, rows, shape_.width, width_pitch_);
  return {copy, width_pitch_};
}
template <class T>
inline auto AttentionHead<T>::writable(HeadRows<T> y, long rows) -> HeadRows<A> {
  if constexpr (same_type)
    if (in_place()) return y;
  return {take(rows), width_pitch_};
}
template <class T>
inline void AttentionHead<T>::give(HeadRows<A> from, HeadRows<T> to, long begin, long end) const {
  if (!in_place())
    copy_matrix(from.data + begin * from.pitch, from.pitch, 1, to.data + begin * to.pitch, to.pitch, end - begin,
                shape_.width, 0);
}
template <class T>
inline void AttentionHead<T>::weigh(long i, int rows, A* to) const {
  run_product<A>({by_feature_, shape_.width, q_.data + i * q_.pitch, q_.pitch, keys_, to, pitch_, false, true}, rows,
                 seen(i + rows));
  for (int r = 0; r < rows; ++r)
    attention_weights(to + r * pitch_, seen(i + r + 1), round_up(seen(i + rows), reduce_lanes), scale_);
}
template <class T>
inline void AttentionHead<T>::gather_keys(long segment, long first, long last, const A* factors, const Tap* taps,
                                          HeadRows<const A> x, HeadRows<A> to, A* sums) const {
  const HeadRows<A> own = segment > 0 ? HeadRows<A>{sums, width_pitch_} : to;
  for (long j = 0, rows; j < seen(last); j += rows) {
    const long border = !shape_.causal || j >= first ? seen(last) : j < segment ? segment : first;
    rows = smaller(tile_rows, border - j);
    const long from = shape_.causal && j > first ? j : first;  // queries before see none of these keys
    run_product<A>({taps, last - from, factors + (from - first) * pitch_ + j, 1, x.data + from * x.pitch,
                    own.data + j * own.pitch, own.pitch, first > segment && !(shape_.causal && j >= first), false},
                   int(rows), shape_.width);
  }
  if (segment > 0 && (last == shape_.queries || last == segment + segment_units<A>))
    add_segment(own, to, seen(last), shape_.causal ? segment : shape_.keys);
}
template <class T>
[[gnu::noinline]] inline void AttentionHead<T>::add_segment(HeadRows<A> from, HeadRows<A> to, long rows,
                                                            long fresh) const {
  using V = Simd<A>;
  for (long j = 0; j < rows; ++j) {
    const A* const own = from.data + j * from.pitch;
    A* const sum = to.data + j * to.pitch;
    if (j >= fresh) copy_row(own, sum, shape_.width);
    long f = j < fresh ? 0 : shape_.width;
    for (; f + V::width <= shape_.width; f += V::width) (V::load(sum + f) + V::load(own + f)).store(sum + f);
    for (; f < shape_.width; ++f) sum[f] += own[f];
  }
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
