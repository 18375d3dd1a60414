// MatMul, and by which tiles products are computed.
#pragma once
#include <tenon/backend/cpu/gemm/matmul.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
#include <tenon/backend/cuda/gemm/product.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// The products of a call of MatMul: segments of gemm_segment steps (cpu/gemm/plan.hpp).
template <class C>
struct MatrixProduct {
  using T = typename C::Result;
  using Cpu = Kernel<tenon::Cpu, ops::MatMul>;
  using Left = MatrixLines<T, !C::Op::first(C::config())>;
  using Right = MatrixLines<T, C::Op::second(C::config())>;
  using Sizes = Cpu::Sizes;

  TENON_DEVICE static constexpr Sizes sizes(long n) {
    constexpr Sizes one = Cpu::matrices_at<C>(1), two = Cpu::matrices_at<C>(2);
    return Cpu::between(one, two, n);
  }
  TENON_DEVICE static constexpr ProductExtent extent(long n) {
    const Sizes s = sizes(n);
    return {s.m, s.n, s.stack};
  }

  Left left;
  Right right;
  long rows, columns, steps, index;

  __device__ MatrixProduct(const Arguments& a, long product) : index(product) {
    const Sizes s = sizes(a.n);
    rows = s.m, columns = s.n, steps = s.k;
    left = {a.template operand<T>(0) + Cpu::matrix_of<C, 0>(product, a.n) * s.m * s.k, int(s.m),
            int(Left::steps_are_neighbours ? s.k : s.m)};
    right = {a.template operand<T>(1) + Cpu::matrix_of<C, 1>(product, a.n) * s.k * s.n, int(s.n),
             int(Right::steps_are_neighbours ? s.k : s.n)};
  }
  __device__ long segments() const { return (steps + gemm_segment<T> - 1) / gemm_segment<T>; }
  __device__ long segment_begin(long i) const { return i * gemm_segment<T> < steps ? i * gemm_segment<T> : steps; }
  __device__ void put(const Arguments& a, long row, long column, T value) const {
    store_result<C>(a, (index * rows + row) * columns + column, column, value);
  }
};

/// Tiles by which products are computed. The bits are those of any other.
struct LargeTile : ProductTile<128, 128, 8, 8, 8> {};
struct MediumTile : ProductTile<64, 64, 4, 4, 16> {};
template <int parts>
struct SmallTile : ProductTile<16, 32, 2, 4, 32, parts> {};

/// Blocks that keep a GPU busy: a larger tile pays where it leaves this many.
inline constexpr long enough_blocks = 132;
template <class Tile>
constexpr bool fills(const ProductExtent& e) {
  return blocks_for(e.rows, Tile::rows) * blocks_for(e.columns, Tile::columns) * e.products >= enough_blocks;
}
/// Starts a product of float32 by the tile that its sizes ask for. Rows, steps, and products are 0 where they depend on
/// the batch.
template <class Source, long rows, long columns, long steps, long products>
void launch_product(const Arguments& a) {
  constexpr int parts = steps > 2 * segment_units<float> ? 4 : steps > segment_units<float> ? 2 : 1;
  using Small = SmallTile<parts>;
  if constexpr (rows > 0 && products > 0) {
    constexpr ProductExtent e{rows, columns, products};
    using Tile =
        std::conditional_t<fills<LargeTile>(e), LargeTile, std::conditional_t<fills<MediumTile>(e), MediumTile, Small>>;
    ProductBlocks<Source, Tile>::launch(a);
  } else {
    const ProductExtent e = Source::extent(a.n);
    if constexpr (columns > LargeTile::columns / 2 && (rows == 0 || rows > LargeTile::rows / 2))
      if (fills<LargeTile>(e)) return ProductBlocks<Source, LargeTile>::launch(a);
    fills<MediumTile>(e) ? ProductBlocks<Source, MediumTile>::launch(a) : ProductBlocks<Source, Small>::launch(a);
  }
}

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::MatMul> : kernel::cuda::Whole {
  static constexpr KernelFacts facts{.epilogue = true};
  template <class C>
  static void run(const Arguments& a, long, long) {
    using Source = kernel::cuda::MatrixProduct<C>;
    if constexpr (std::is_same_v<typename C::Result, float>) {
      constexpr auto one = Source::sizes(1), two = Source::sizes(2);
      constexpr auto known = [](long x, long y) { return x == y ? x : 0; };
      kernel::cuda::launch_product<Source, known(one.m, two.m), one.n, known(one.k, two.k),
                                   known(one.stack, two.stack)>(a);
    } else kernel::cuda::ProductBlocks<Source, kernel::cuda::MediumTile>::launch(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
