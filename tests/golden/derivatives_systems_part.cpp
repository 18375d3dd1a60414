// flags: -O0
// Derivatives of linear algebra, against PyTorch.
#include "derivatives.hpp"

using namespace derivatives;

namespace {
/// Matrices that are far from singular, and positive definite ones.
constexpr auto regular(const auto& a) { return a + ops::eye<3, double>(a) * 8.0; }
constexpr auto positive(const auto& a) { return ops::matmul<Transposed::second>(a, a) + ops::eye<3, double>(a); }
}  // namespace

const Group systems([] {
  using Matrices = D<dyn, 3, 3>;
  check<Matrices, D<dyn, 3, 2>>("solve", [](const auto& a, const auto& b) { return solve(regular(a), b); });
  check<Matrices, D<dyn, 3>>("solve.vectors", [](const auto& a, const auto& b) { return solve(regular(a), b); });
  check<Matrices, D<dyn, 3, 2>>("solve_triangular",
                                [](const auto& a, const auto& b) { return solve_triangular(regular(a), b); });
  check<D<3, 3>, D<3, 1>>("solve_triangular.upper", [](const auto& a, const auto& b) {
    return solve_triangular<TriangularConfig{.side = Side::upper, .unit_diagonal = 1}>(a, b);
  });
  check<Matrices>("inverse", [](const auto& a) { return inverse(regular(a)); });
  check<Matrices>("det", [](const auto& a) { return det(regular(a)); });
  check<Matrices>("slogdet", [](const auto& a) { return std::get<1>(slogdet(-regular(a))); });
  check<Matrices>("slogdet.sign", [](const auto& a) { return std::get<0>(slogdet(a)) * trace(a); });
  check<Matrices>("logdet", [](const auto& a) { return logdet(positive(a)); });
  check<Matrices>("cholesky", [](const auto& a) { return cholesky(positive(a)); });
  check<Matrices, D<dyn, 3, 2>>("cholesky_solve",
                                [](const auto& a, const auto& b) { return cholesky_solve(b, cholesky(positive(a))); });
});
