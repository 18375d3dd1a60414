// One block of a matrix product: packing, and the walk of the tiles.
#pragma once
#include <tenon/backend/cpu/gemm/amx_block.hpp>
#include <tenon/backend/cpu/gemm/row.hpp>
#include <tenon/backend/cpu/gemm/row_stream.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// Who gets the rows of a product that has no C.
template <class T>
struct ProductRows {
  const void* context;
  void (*call)(const void* context, long row0, long rows, long column0, long columns, const T* elements, long pitch);
};

template <class T>
class GemmBlock {
  using A = ProductSum<T>;
  using P = Packed<T>;
  static constexpr bool widen = !std::is_same_v<A, T>;
  // The first row of tiles packs whole panels of B while it computes, if they lie in rows of the same type. Not
  // with wide vectors: their programs stay smaller without a second kind of tile.
  static constexpr bool can_pack_by_tile = simd_bytes < 64 && std::is_same_v<T, P> && std::is_floating_point_v<T>;
  static constexpr long unit = steps_per_unit<T>;  // `first` and `depth` below count units of this many steps

 public:
  GemmBlock(const GemmPlan<T>& plan, const Gemm<T>& g, void* workspace, const GemmPart& part,
            const ProductRows<T>* done)
      : plan_(plan),
        part_(part),
        done_(done),
        c_(g.c && !plan.swapped ? g.c + part.row0 * g.c_row + part.column0 : nullptr),
        c_row_(g.c_row),
        a_(plan.a + part.row0 * plan.a_row),
        b_(plan.b + part.column0 * plan.b_col),
        at_(gemm_scratch(plan, workspace)),
        sums_row_(part.columns) {
    plus_zero_ = may_add_zeros<T> && g.plus_zero;
    if constexpr (!widen)
      if (plan.in_place()) at_.sums = c_, sums_row_ = c_row_;
    row_blocks_ = ceil_div(part.rows, tile_rows);
    constexpr long far = 1l << 30;
    pack_a_ = (widen && !a_is_units()) ||
              (!widen && gemm_packs_a<A>(part.rows, part.columns, *plan.costs) && a_is_scattered()) ||
              plan.a_row * tile_rows > far || plan.a_col * gemm_depth<A> > far;
    const bool near = plan.k * plan.b_row * long(sizeof(A)) <= plan.costs->near_bytes;
    pack_b_ = widen || plan.b_col != 1 || (row_blocks_ > 2 && !near) || part.columns < tile_step<A> ||
              plan.b_row * gemm_depth<A> > far;
    choose_panels();
    if constexpr (can_pack_by_tile)
      if (pack_b_ && plan.b_col == 1 && row_blocks_ > 2)
        while (by_tile_ < panels_ && panel_[by_tile_].is_whole(part.columns)) ++by_tile_;
  }

  // Are the units of A's rows there without packing?
  bool a_is_units() const {
    return unit > 1 && plan_.a_col == 1 && plan_.a_row % unit == 0 && plan_.k % unit == 0 &&
           reinterpret_cast<std::uintptr_t>(a_) % sizeof(P) == 0;
  }

  // Would a tile find its rows of A in the nearest cache only once? Steps that lie apart are a line each; rows that are
  // a multiple of this many bytes apart compete for the same places. With wide vectors A is packed in any case.
  bool a_is_scattered() const {
    return simd_bytes == 64 || plan_.a_col != 1 || plan_.a_row * long(sizeof(T)) % gemm_competing_bytes == 0;
  }

  void run(const Gemm<T>& g) {
    // One row of tiles needs a packed panel once: it goes through the nearest cache, all of k before the next panel.
    const bool one_by_one = pack_b_ && !pack_a_ && row_blocks_ == 1;
    const long units = plan_.units(), depth = one_by_one ? gemm_depth<A> : plan_.depth();
    block_by_block_ = plan_.row_by_row() && !one_by_one;
    fill_taps(at_most(units, depth));
    for (long s = 0, end; s < panels_; s = end) {
      end = one_by_one ? s + 1 : panels_;
      long first = 0;
      do {
        steps(first, at_most(units - first, depth), s, end);
        first += depth;
      } while (first < units);
    }
    if (plan_.in_place() || block_by_block_) return;
    if (plan_.swapped)
      copy_matrix(at_.sums, 1, sums_row_, g.c + part_.column0 * g.c_row + part_.row0, g.c_row, part_.columns,
                  part_.rows, 0);
    else rows_done(0, part_.rows);
  }

 private:
  // Columns from `at` on that one tile covers. A tile may begin before them: then it consists of whole vectors in
  // place.
  struct Panel {
    long at, from, width;
    bool is_whole(long columns) const { return from == at && width == gemm_panel<A> && at + width <= columns; }
  };
  void choose_panels() {
    const long columns = part_.columns;
    for (long at = 0; at < columns; ++panels_) {
      const long left = columns - at;
      long width = part_.rows == 1 && !pack_b_ && left > gemm_panel<A> ? tile_columns<A>(1) : covered_columns<A>(left);
      while (width > columns && width > tile_step<A>) width = covered_columns<A>(width - simd_width<A>);
      panel_[panels_] = {at, left < width && width <= columns ? columns - width : at, width};
      at += width;
    }
  }

  // Panels that the first row of tiles packs.
  long by_tile() const { return can_pack_by_tile ? by_tile_ : 0; }
  // Rows of a block, where `left` are there of it and all after it: even blocks, but one that packs is a whole one.
  long rows_of(long block, long left) const {
    if (row_blocks_ == 1) return part_.rows;
    return block == 0 && by_tile() > 0 ? tile_rows : ceil_div(left, row_blocks_ - block);
  }

  // Steps of k for panels begin .. end - 1.
  void steps(long first, long depth, long begin, long end) {
    const long taken = at_most(depth * unit, plan_.k - first * unit);
    if (pack_b_) pack_b(b_ + first * unit * plan_.b_row, depth, taken, begin + by_tile(), end);
    std::int32_t row[tile_rows];
    for (int i = 0; i < tile_rows; ++i) row[i] = std::int32_t(pack_a_ ? i : i * plan_.a_row / unit);
    const T* const a = a_ + first * unit * plan_.a_col;
    for (long block = 0, i = 0, rows; block < row_blocks_; ++block, i += rows) {
      rows = rows_of(block, part_.rows - i);
      if (pack_a_ && block % gemm_group == 0) pack_a(a, depth, taken, block, i);
      Tile<A, P> tile{
          at_.taps,  depth,     at_.a + block % gemm_group * packed_rows * depth, row, at_.b, nullptr, sums_row_, false,
          first > 0, plus_zero_};
      if (!pack_a_) tile.a = reinterpret_cast<const P*>(a + i * plan_.a_row);
      tile_row(tile, at_.sums + (block_by_block_ ? 0 : i * sums_row_), int(rows), block == 0, first, begin, end);
      if (block_by_block_) rows_done(i, rows);
    }
  }
  void rows_done(long i, long rows) const {
    if constexpr (!widen)
      if (done_)
        return done_->call(done_->context, part_.row0 + i, rows, part_.column0, part_.columns, at_.sums, sums_row_);
    for (long r = 0; r < rows; ++r) round_sums(at_.sums + r * sums_row_, c_ + (i + r) * c_row_, part_.columns);
  }

  void fill_taps(long depth) {
    const auto a = std::int32_t(pack_a_ ? packed_rows : plan_.a_col),
               b = std::int32_t(pack_b_ ? gemm_panel<A> : plan_.b_row);
    for (std::int32_t p = 0; p < depth; ++p) at_.taps[p] = {p * a, p * b};
  }

  // Row blocks from number `block` on, whose first row is i.
  void pack_a(const T* a, long depth, long taken, long block, long i) {
    Strip<T> strips[gemm_group];
    long count = 0;
    // Whole strips are packed faster: after the rows of a block come some of the next one.
    for (long rows; count < gemm_group && block + count < row_blocks_; ++count, i += rows) {
      rows = rows_of(block + count, part_.rows - i);
      strips[count] = {a + i * plan_.a_row, at_most(packed_rows, part_.rows - i), packed_rows};
    }
    pack_strips(strips, count, plan_.a_col, plan_.a_row, taken, at_.a, packed_rows, packed_rows * depth);
    next_a_ = a + i * plan_.a_row;
    next_rows_ = plan_.a_col == 1 ? at_most(part_.rows - i, gemm_group * tile_rows) : 0;
    next_steps_ = plan_.a_row == 1 && i < part_.rows ? taken : 0;
  }
  // The rows of the next group are fetched one by one while tiles are computed; if they lie side by side, some steps of
  // all of them.
  void fetch_next_row(long depth) {
    constexpr long lanes = gemm_group * tile_rows, line = 64 / long(sizeof(T));
    for (long some = at_most(next_steps_, ceil_div(depth * unit, gemm_group * panels_)); some > 0;
         --some, --next_steps_, next_a_ += plan_.a_col)
      for (long j = 0; j < lanes; j += line) __builtin_prefetch(next_a_ + j, 0, 2);
    if (next_rows_ <= 0) return;
    for (long p = 0; p < depth * unit; p += 64 / long(sizeof(T))) __builtin_prefetch(next_a_ + p, 0, 2);
    next_a_ += plan_.a_row, --next_rows_;
  }

  void pack_b(const T* b, long depth, long taken, long begin, long end) {
    Strip<T> strips[most_panels];
    for (long s = begin; s < end; ++s) {
      const Panel& p = panel_[s];
      strips[s - begin] = {b + p.from * plan_.b_col, at_most(p.width, part_.columns - p.from), p.width};
    }
    if (begin < end)
      pack_strips(strips, end - begin, plan_.b_row, plan_.b_col, taken, at_.b + by_tile() * panel_pitch(depth),
                  gemm_panel<A>, panel_pitch(depth));
  }
  // The odd cache line keeps panels from competing for the same places of a cache.
  static long panel_pitch(long depth) { return gemm_panel<A> * depth + gemm_gap<A>; }

  // All panels of one row of tiles.
  [[gnu::noinline]] void tile_row(Tile<A, P>& tile, A* out, int rows, bool packs, long first, long begin, long end) {
    for (long s = begin; s < end; ++s) {
      const Panel& p = panel_[s];
      tile.b = at_.b + (s - begin) * panel_pitch(tile.count);
      if constexpr (!widen)
        if (!pack_b_) tile.b = b_ + first * plan_.b_row + p.from;
      tile.out = out + p.from;
      fetch_next_row(tile.count);
      if constexpr (can_pack_by_tile)
        if (packs && s < by_tile_) {
          run_tile<A, P, simd_width<A>, tile_rows, tile_vectors>(PackingTile<A, P>{
              tile, b_ + first * plan_.b_row + p.at, plan_.b_row, at_.b + s * panel_pitch(tile.count)});
          continue;
        }
      // What lies before `at` has its steps already, unless these are all.
      if (p.from + p.width > part_.columns || (p.from < p.at && tile.count < plan_.units())) aside(tile, rows, p);
      else visit(tile, rows, p.width);
    }
  }
  // A segment, or of pairs several.
  static void visit(const Tile<A, P>& tile, int rows, long width) {
    if constexpr (unit > 1) run_segments(tile, rows, width);
    else run_tile(tile, rows, width);
  }

  // A tile of which only the columns from p.at on belong to C.
  void aside(const Tile<A, P>& tile, int rows, const Panel& p) const {
    A sums[tile_rows * tile_columns<A>(2) > tile_columns<A>(1) ? tile_rows * tile_columns<A>(2) : tile_columns<A>(1)];
    const long before = p.at - p.from, columns = part_.columns - p.at;
    if (tile.add) {
      clear(sums, rows * p.width);
      copy_matrix(tile.out + before, tile.out_row, 1, sums + before, p.width, rows, columns, 0);
    }
    Tile<A, P> own = tile;
    own.out = sums, own.out_row = p.width;
    visit(own, rows, p.width);
    copy_matrix(sums + before, p.width, 1, tile.out + before, tile.out_row, rows, columns, 0);
  }

  static constexpr long most_panels = 2 * gemm_columns<T> / gemm_panel<A> + 2;
  const GemmPlan<T>& plan_;
  const GemmPart& part_;
  const ProductRows<T>* done_;
  T* c_;  // where an unswapped block goes
  long c_row_;
  const T *a_, *b_, *next_a_ = nullptr;
  GemmScratch<T> at_;
  long sums_row_;
  long row_blocks_, panels_ = 0, by_tile_ = 0, next_rows_ = 0, next_steps_ = 0;
  Panel panel_[most_panels];
  bool pack_a_, pack_b_, plus_zero_, block_by_block_ = false;
};

template <class T>
[[gnu::noinline]] void gemm_block(const GemmPlan<T>& plan, const Gemm<T>& g, void* workspace, const GemmPart& part,
                                  const ProductRows<T>* done = nullptr) {
#if defined(TENON_HAS_AMX)
  if constexpr (by_amx<T>)
    if (amx_permitted()) return gemm_amx_block(plan, g, workspace, part);
#endif
  if constexpr (by_pieces<T>)
    if (!plan.by_rows && is_row_product(plan) && part.columns >= piece_lanes<ProductSum<T>>) {
      const long step = plan.swapped ? g.c_row : 1;
      return row_product(plan.a, plan.b + part.column0 * plan.b_col, plan.b_col, plan.k, part.columns,
                         g.c + part.column0 * step, step);
    }
  if constexpr (GemmPlan<T>::may_stream)
    if (plan.streams()) {
      const long step = plan.swapped ? g.c_row : 1;
      return streamed_row(plan.a, plan.a_col, plan.b + part.column0, plan.b_row, plan.k, part.columns,
                          g.c + part.column0 * step, step);
    }
  GemmBlock<T>(plan, g, workspace, part, done).run(g);
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
