// The similarity of the rows of a batch.
#pragma once
#include <cmath>
#include <vector>

#include <tenon/nn/loss/reduction.hpp>
#include <tenon/nn/metric/count/element.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The product of two rows: of their directions, or of the rows as they are.
enum class Similarity { cosine, dot };

/// reduction      none: the matrix [n, n]; sum, mean: of each of its rows
/// zero_diagonal  the similarity of a row with itself counts as 0; the mean still divides by n
struct CosineSimilarityOptions {
  Similarity similarity = Similarity::cosine;
  Reduction reduction = Reduction::none;
  bool zero_diagonal = true;
};

/// The similarity of each row to each, of the last update alone. A row of zeros has no direction: NaN.
///
/// rows    [n, d] any dtype
/// source  MindSpore nn.CosineSimilarity
class CosineSimilarity {
 public:
  static constexpr std::string_view name = "cosine_similarity";
  explicit CosineSimilarity(CosineSimilarityOptions options = {}) : options_(options) {}

  void clear() { products_.clear(), n_ = 0; }
  /// Throws ValueError unless the rows are a matrix.
  void update(const AnyTensor& rows) {
    if (rows.rank != 2)
      throw_error<ValueError>("CosineSimilarity needs rows [n,d], got ", shape_text(rows.shape()), ".");
    const std::int64_t n = rows.extent[0], d = rows.extent[1];
    n_ = static_cast<std::size_t>(n);
    products_.assign(n_ * n_, 0);
    std::vector<double> length(n_, 1);
    for (std::size_t i = 0; i < n_ && options_.similarity == Similarity::cosine; ++i)
      length[i] = std::sqrt(product(rows, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i), d));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        if (i != j || !options_.zero_diagonal)
          products_[static_cast<std::size_t>(i * n + j)] =
              product(rows, i, j, d) / (length[static_cast<std::size_t>(i)] * length[static_cast<std::size_t>(j)]);
  }
  /// The matrix in row-major order, or a number per row. Throws RuntimeError if there was no update, or one of 0 rows.
  std::vector<double> eval() const {
    detail::share("CosineSimilarity", 0, double(n_));
    if (options_.reduction == Reduction::none) return products_;
    std::vector<double> result(n_);
    for (std::size_t i = 0; i < products_.size(); ++i) result[i / n_] += products_[i];
    if (options_.reduction == Reduction::mean)
      for (double& sum : result) sum /= double(n_);
    return result;
  }

 private:
  static double product(const AnyTensor& rows, std::int64_t i, std::int64_t j, std::int64_t d) {
    double sum = 0;
    for (std::int64_t k = 0; k < d; ++k) sum += detail::element(rows, i * d + k) * detail::element(rows, j * d + k);
    return sum;
  }

  CosineSimilarityOptions options_;
  std::vector<double> products_;
  std::size_t n_ = 0;
};

}  // namespace tenon::nn
