// A weight that is packed once for the many small products of a time loop.
#pragma once
#include <cstddef>
#include <cstdint>

#include <tenon/backend/cpu/gemm/pack.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Samples that go through time together: the weight is read once per step for all of them.
inline constexpr long recurrent_rows = tile_rows;
static_assert(recurrent_rows <= 8, "see ops::longest_sample: distances between the rows of a tile have 32 bits");

/// What the sum of a product's first segment begins with: +0, what stands there as a sum, or as a chain to continue
/// with.
enum class StepSums { fresh, add, resume };

/// The matrix b [k, columns] of many products a b with few rows a, in panels as wide as the tile for that number of
/// rows. Element (p, j) of b is from[p * b_row + j * b_column].
template <class A>
class StepWeight {
 public:
  StepWeight(long k, long columns, long rows, void* memory) : k_(k), columns_(columns), pitch_(pitch(columns, rows)) {
    taps_ = static_cast<Tap*>(memory);
    packed_ = reinterpret_cast<A*>(static_cast<char*>(memory) + taps_bytes(k));
    if (halves && pitch_ == tile_columns<A>(1) && k * pitch_ * long(sizeof(A)) > near_bytes)
      pitch_ = few_vectors * simd_width<A>;
  }
  /// Bytes for up to `rows` rows, a multiple of 64.
  static constexpr std::size_t bytes(long k, long columns, long rows) {
    const long one = panels(columns, 1) * pitch(columns, 1),
               many = rows > 1 ? panels(columns, rows) * pitch(columns, rows) : 0;
    return taps_bytes(k) + std::size_t(round_up(k * (one > many ? one : many) * long(sizeof(A)), 64));
  }
  /// Columns of a product as it is stored: the last ones have no meaning.
  static constexpr long width(long columns) {
    const long one = panels(columns, 1) * pitch(columns, 1), many = panels(columns, 2) * pitch(columns, 2);
    return one > many ? one : many;
  }

  /// Packs steps k0 .. k1 - 1 of the chain, of which the first one is at `from`.
  void pack(const A* from, long b_row, long b_column, long k0, long k1);
  void pack(const A* from, long b_row, long b_column) { pack(from, b_row, b_column, 0, k_); }
  /// out[i][j] = sum over segments of ascending p of a[i][p] b[p][j], p = k0 .. k1 - 1; for as many rows as the panels
  /// were made for, or one of a block of several. Every other time the last panel is the first, because it is still in
  /// a near cache.
  void multiply(const A* a, long a_row, long rows, A* out, long out_row, StepSums sums, long k0, long k1);
  void multiply(const A* a, long a_row, long rows, A* out, long out_row, StepSums sums = StepSums::fresh) {
    multiply(a, a_row, rows, out, out_row, sums, 0, k_);
  }

 private:
  // A panel that would take more than half of the nearest cache (32 KB) is half as wide, then the last one is found
  // there: 4 chains do, because the next cache is the limit. Wide vectors gain nothing.
  static constexpr bool halves = simd_bytes < 64;
  static constexpr int few_vectors = row_vectors / 2;
  static constexpr long near_bytes = 16384;

  void multiply_panel(Tile<A>& tile, long rows, long columns) const;
  static constexpr long pitch(long columns, long rows) {
    return rows == 1 && columns > tile_columns<A>(2) ? tile_columns<A>(1) : tile_columns<A>(2);
  }
  static constexpr long panels(long columns, long rows) { return ceil_div(columns, pitch(columns, rows)); }
  static constexpr std::size_t taps_bytes(long k) { return std::size_t(round_up(k * long(sizeof(Tap)), 64)); }

  long k_, columns_, pitch_;
  bool backward_ = true;
  Tap* taps_;
  A* packed_;
};

#if TENON_DEFINES
template <class A>
inline void StepWeight<A>::pack(const A* from, long b_row, long b_column, long k0, long k1) {
  for (auto p = std::int32_t(k0); p < k1; ++p) taps_[p] = {p, p * std::int32_t(pitch_)};
  for (long j = 0; j < columns_; j += pitch_) {
    const long own = columns_ - j < pitch_ ? columns_ - j : pitch_;
    copy_matrix(from + j * b_column, b_row, b_column, packed_ + j * k_ + k0 * pitch_, pitch_, k1 - k0, own, pitch_);
  }
}
// Changes the tile: a copy would wait for what has just been written.
template <class A>
inline void StepWeight<A>::multiply_panel(Tile<A>& tile, long rows, long columns) const {
  if constexpr (halves)
    if (pitch_ == few_vectors * simd_width<A>) {
      for (long left = tile.count; left > 0; left -= tile.count) {
        tile.count = left < segment_units<A> ? left : segment_units<A>;
        detail::run_tile<A, A, simd_width<A>, 1, few_vectors>(tile);
        tile.taps += tile.count, tile.resume = false, tile.add = true;
      }
      return;
    }
  run_segments(tile, int(rows), columns);
}
template <class A>
inline void StepWeight<A>::multiply(const A* a, long a_row, long rows, A* out, long out_row, StepSums sums, long k0,
                                    long k1) {
  std::int32_t row[tile_rows];
  for (long i = 0; i < rows; ++i) row[i] = std::int32_t(i * a_row);
  const long panels = ceil_div(columns_, pitch_);
  backward_ = !backward_;
  for (long panel = 0; panel < panels; ++panel) {
    const long j = (backward_ ? panels - 1 - panel : panel) * pitch_;
    Tile<A> tile{taps_ + k0,           k1 - k0, a, row, packed_ + j * k_, out + j, out_row, sums == StepSums::resume,
                 sums == StepSums::add};
    multiply_panel(tile, rows, columns_ - j < pitch_ ? columns_ - j : pitch_);
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
