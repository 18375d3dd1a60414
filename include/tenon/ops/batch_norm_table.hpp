// Batch normalization: statistics of a batch per channel, as a table.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Settings: `rank` is 2 for rows [n,C] or 4 for images [n,C,H,W].
struct BatchNormAttributes {
  float epsilon = 1e-5f;
  int rank = 4;
};
/// Rows of the table that the operators below share, each of C numbers.
struct BatchNormTableRow {
  enum Row : int { mean, variance, gamma, beta, unbiased_variance, rows };
};

/// A row of a [rows, C] table. Not for users.
struct TableRow : Operator<TableRow, "TableRow"> {
  struct Config {
    int row = 0;
  };
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    return {{in[0][1]}, 1, in[0].dtype};
  }
};

/// Statistics of a batch with gamma and beta, as one table of five rows. Not for users.
///
/// x           [n, C, H, W] or [n, C]; floating-point. Throws ValueError if a channel has one value only
/// gamma, beta [C]; float32, or float64 beside a float64 x
/// more        moving mean and variance [C], and a number that is not 0 if they stand for the batch's statistics: then
///             the unbiased variance is -1
/// result      [5, C]: mean, biased variance, gamma, beta, unbiased variance
/// derivative  to gamma and beta; what x contributes through its statistics is part of BatchNorm's derivative
/// order       two passes: mean, then deviations and what the rounded mean lacks. Float32 images with an n: as in
///             backend/cpu/nchw16n/layout.hpp. Other images: each plane in 16 lanes, planes in order of samples, both
///             in chains and trees as rows [n,C] are (backend/cpu/reduce/sum_tree.hpp)
struct BatchNormTable : Operator<BatchNormTable, "BatchNormTable"> {
  static constexpr bool float_parameters = true;
  using Config = BatchNormAttributes;
  using Row = BatchNormTableRow;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType &x = in[0], &gamma = in[1];
    const char* const name = c.rank == 2 ? "BatchNorm1d" : "BatchNorm2d";
    const Dtype wanted = x.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    if (x.rank != c.rank)
      error << name << " needs an input " << (c.rank == 2 ? "[n,C]" : "[n,C,H,W]") << " of rank " << c.rank << ", got "
            << x;
    else if (!is_floating(x.dtype))
      error << name << " needs a floating-point input, got " << tenon::name(x.dtype) << " " << x;
    else if (x[1] != gamma[0])
      error << name << " got an input of " << x[1] << " channels " << x << ", its gamma " << gamma << " needs "
            << gamma[0];
    else if (gamma.dtype != wanted || in[2].dtype != wanted)
      error << name << " of " << tenon::name(x.dtype) << " needs parameters of " << tenon::name(wanted) << ", got "
            << tenon::name(gamma.dtype);
    else if (!x.batched() && x.count(1) == x[1])
      error << name << " in training needs more than 1 value per channel, got " << x;
    return {{BatchNormTableRow::rows, gamma[0]}, 2, gamma.dtype};
  }
  static constexpr LeastBatch least_batch(const OperandTypes& in) {
    const TensorType& x = in[0];
    return {x.batched() && x.count(1) == x[1] ? 2 : 1,
            x.rank == 2 ? "BatchNorm1d in training" : "BatchNorm2d in training", "more than 1 value per channel"};
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(1, d.call_with<TableRow>({BatchNormTableRow::gamma}, d.gradient()));
    d.flows_to(2, d.call_with<TableRow>({BatchNormTableRow::beta}, d.gradient()));
  }
};

}  // namespace tenon::ops
