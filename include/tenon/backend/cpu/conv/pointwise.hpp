// A convolution of one tap at every pixel as the matrix product that it is: weights [rows, planes] times an image
// [planes, pixels].
#pragma once
#include <tenon/backend/cpu/conv/plan.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// The product packs what tiles read from hundreds of planes again and again.
template <class T>
class PointwiseConv {
 public:
  static constexpr bool packs = false;

  PointwiseConv(const ConvPlan& c, void* workspace) : c_(c), workspace_(workspace) {}

  /// Result channels row0 .. row0 + rows - 1 of one sample and group. weight: of row0; from: the group's planes; to:
  /// plane of row0.
  void run(const T* weight, const T* from, T* to, long rows, long, const T*) {
    const long pixels = c_.height * c_.width;
    Gemm<T> g = pointwise_product<T>(c_);
    g.a = weight, g.b = from, g.c = to;
    if (pixels == 1) g.m = rows;  // else all channels decide how it is cut, as they do how much workspace there is
    const GemmPlan<T> plan = gemm_plan(g);
    const long all_rows = plan.swapped ? pixels : rows, all_columns = plan.swapped ? rows : pixels;
    for (long column = 0, columns; column < all_columns; column += columns) {
      columns = at_most(plan.chunk_columns, all_columns - column);
      for (long row = 0, count; row < all_rows; row += count) {
        count = at_most(plan.most_rows(), all_rows - row);
        gemm_block(plan, g, workspace_, {row, count, column, columns, 0});
      }
    }
    if (plan.rows > 1) return;
    for (long i = 0; i < rows * pixels; ++i) to[i] += T(0);
  }

 private:
  const ConvPlan& c_;
  void* workspace_;
};

}  // namespace tenon::kernel::detail
TENON_EXACT_END
