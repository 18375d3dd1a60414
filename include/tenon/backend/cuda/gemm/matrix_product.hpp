// Products of matrices in memory, and those that are cut at the borders of segments, so that small results of many
// steps have enough blocks.
#pragma once
#include <tenon/backend/cpu/gemm/plan.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>
#include <tenon/backend/cuda/lane_memory.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Rows, columns, and steps of products; elements from a factor to that of the next product: 0 if all have the same.
struct MatrixSizes {
  int rows, columns, steps, products;
  long next_left, next_right, n;
};
/// Where the factors of a product are in their stacks, if they are evenly apart,
struct EvenStacks {
  template <int which>
  __device__ static long matrix(const MatrixSizes& s, long product) {
    return product * (which ? s.next_right : s.next_left);
  }
};
/// and if one of them broadcasts.
template <class C, class Put>
struct BroadcastStacks {
  template <int which>
  __device__ static long matrix(const MatrixSizes& s, long product) {
    return Put::template matrix_of<C, which>(product, s.n) * (which ? s.next_right : s.next_left);
  }
};

/// Products of matrices: segments of gemm_segment steps (cpu/gemm/plan.hpp). `at`: the operand that is the first
/// factor. `turned`: a factor is stored transposed. Put takes the elements. There are no shapes here: calls that differ
/// in them alone share kernels.
template <class Element, int at, bool turned_left, bool turned_right, class Put, class Stacks>
struct MatrixProduct {
  using T = Element;
  using Left = MatrixLines<T, !turned_left>;
  using Right = MatrixLines<T, turned_right>;
  using Sizes = MatrixSizes;

  TENON_DEVICE static constexpr ProductExtent extent(const Sizes& s) { return {s.rows, s.columns, s.products}; }

  Left left;
  Right right;
  int rows, columns, steps;
  long first;  // element of the result

  __device__ MatrixProduct(const Arguments& a, const Sizes& s, long product)
      : left{a.template operand<T>(at) + Stacks::template matrix<0>(s, product), s.rows,
             turned_left ? s.rows : s.steps},
        right{a.template operand<T>(at + 1) + Stacks::template matrix<1>(s, product), s.columns,
              turned_right ? s.steps : s.columns},
        rows(s.rows),
        columns(s.columns),
        steps(s.steps),
        first(product * s.rows * s.columns) {}
  __device__ int segments() const { return (steps + int(gemm_segment<T>) - 1) / int(gemm_segment<T>); }
  __device__ int segment_begin(int i) const {
    return i * int(gemm_segment<T>) < steps ? i * int(gemm_segment<T>) : steps;
  }
  template <int count>
  __device__ void put_row(const Arguments& a, long row, long column, const Neighbours<T, count>& values,
                          long left_in_row) const {
    Put::put(a, first + row * columns + column, column, values, left_in_row);
  }
};

/// A segment of a product as a product of its own, which goes to `to`: first all first segments, then the second ones.
template <class Element, int at, bool turned_left, bool turned_right, class Stacks>
struct SegmentProduct {
  using T = Element;
  using Left = MatrixLines<T, !turned_left>;
  using Right = MatrixLines<T, turned_right>;
  static constexpr long segment = gemm_segment<T>;
  struct Sizes : MatrixSizes {
    T* to;
  };

  TENON_DEVICE static constexpr long segments(const MatrixSizes& s) { return (s.steps + segment - 1) / segment; }
  TENON_DEVICE static constexpr ProductExtent extent(const Sizes& s) {
    return {s.rows, s.columns, s.products * segments(s)};
  }

  Left left;
  Right right;
  int rows, columns, steps;
  T* to;

  __device__ SegmentProduct(const Arguments& a, const Sizes& s, long index)
      : left{a.template operand<T>(at) + Stacks::template matrix<0>(s, index % s.products) +
                 begin(s, index) * (turned_left ? s.rows : 1),
             s.rows, turned_left ? s.rows : s.steps},
        right{a.template operand<T>(at + 1) + Stacks::template matrix<1>(s, index % s.products) +
                  begin(s, index) * (turned_right ? 1 : s.columns),
              s.columns, turned_right ? s.steps : s.columns},
        rows(s.rows),
        columns(s.columns),
        steps(int(s.steps - begin(s, index) < segment ? s.steps - begin(s, index) : segment)),
        to(s.to + index * s.rows * s.columns) {}
  __device__ static long begin(const MatrixSizes& s, long index) { return index / s.products * segment; }
  __device__ int segments() const { return 1; }
  __device__ int segment_begin(int i) const { return i * steps; }
  template <int count>
  __device__ void put_row(const Arguments&, long row, long column, const Neighbours<T, count>& values,
                          long left_in_row) const {
    store_neighbours(values, to, row * columns + column, left_in_row);
  }
};
/// Adds up the segments that are there, one after the other. Put takes the elements. A thread has neighbours of a row.
template <class T, class Put>
struct AddSegments {
  static constexpr int threads = 128, together = together_of<T>;
  MatrixSizes sizes;
  const T* from;
  long segments;

  TENON_DEVICE long in_row() const { return (sizes.columns + together - 1) / together; }
  long blocks() const { return blocks_for(in_row() * sizes.rows * sizes.products, threads); }
  __device__ void block(const Arguments& a) const {
    const long i = thread_of_grid(), row = i / in_row(), column = i % in_row() * together,
               rows = long(sizes.rows) * sizes.products, left = sizes.columns - column;
    if (row >= rows) return;
    const long first = row * sizes.columns + column;
    Neighbours<T, together> total = load_neighbours<together>(from, first, left);
#pragma unroll 8
    for (long segment = 1; segment < segments; ++segment) {
      const auto own = load_neighbours<together>(from + segment * rows * sizes.columns, first, left);
#pragma unroll
      for (int k = 0; k < together; ++k) total.element[k] = total.element[k] + own.element[k];
    }
    Put::put(a, first, column, total, left);
  }
};

/// Whether a product of float32 is cheaper as products of its segments, which are added up later.
constexpr bool pays_by_segments(unsigned tiles, const ProductExtent& e, long steps) {
  constexpr long segment = gemm_segment<float>, fewest = 8, most_bytes = 256 << 20;
  constexpr long launch = 4000, elements_of_nanosecond = 500;  // to add up, as measured with the tiles
  const long segments = (steps + segment - 1) / segment, elements = segments * e.products * e.rows * e.columns;
  if (segments < fewest || elements > most_bytes / long(sizeof(float))) return false;
  const long apart = product_cost<WideTile>({e.rows, e.columns, e.products * segments}, segment) * segment;
  return apart + elements / elements_of_nanosecond + launch < cheapest_tile(tiles, e, steps).cost * steps;
}
/// The same for some batch.
constexpr bool may_pay_by_segments(unsigned tiles, const ProductOfBatch& product) {
  for (long n = 1; n <= ProductOfBatch::most; n *= 2)
    if (pays_by_segments(tiles, product.extent(n), product.steps(n))) return true;
  return false;
}
template <class Segments, class Put>
void launch_by_segments(const Arguments& a, const MatrixSizes& s) {
  using Blocks = ProductBlocks<Segments, WideTile>;
  SeenCall* const seen = running().seen;
  if (seen) return static_cast<void>(seen->kernels += 2);
  const long segments = Segments::segments(s), elements = segments * s.products * s.rows * s.columns;
  auto* const to =
      reinterpret_cast<float*>(LaneMemory::take(LaneMemory::segments, std::size_t(elements) * sizeof(float)));
  Blocks::launch(a, 1, {s, to}, true);
  const AddSegments<float, Put> add{s, to, segments};
  launch_blocks(add, a, add.blocks());
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
