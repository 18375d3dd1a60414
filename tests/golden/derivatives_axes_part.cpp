// flags: -O0
// Derivatives of reductions, and of what runs along an axis, against PyTorch.
#include "derivatives.hpp"

using namespace derivatives;

namespace {
/// Over all axes, over the last, and over the first two.
template <int order = 2, class All, class Last, class First>
void reduction(const std::string& name, All all, Last last, First first) {
  check_to<order, D<dyn, 4>>(name + ".all", all);
  check_to<order, D<dyn, 3>>(name + ".last", last);
  check_to<order, D<2, 1, 3>>(name + ".first", first);
}
template <int order = 2, class Last, class First>
void along(const std::string& name, Last last, First first) {
  check_to<order, D<dyn, 4>>(name + ".last", last);
  check_to<order, D<3, 1, 2>>(name + ".first", first);
}
}  // namespace

const Group reductions([] {
  reduction(
      "reduce_sum", [](const auto& x) { return reduce_sum(x); }, [](const auto& x) { return ops::reduce_sum<1>(x); },
      [](const auto& x) { return ops::reduce_sum_keep<0, 1>(x); });
  reduction(
      "reduce_mean", [](const auto& x) { return reduce_mean(x); }, [](const auto& x) { return ops::reduce_mean<1>(x); },
      [](const auto& x) { return ops::reduce_mean_keep<0, 1>(x); });
  reduction(
      "reduce_max", [](const auto& x) { return reduce_max(x); }, [](const auto& x) { return ops::reduce_max<1>(x); },
      [](const auto& x) { return ops::reduce_max_keep<0, 1>(x); });
  reduction(
      "reduce_min", [](const auto& x) { return reduce_min(x); }, [](const auto& x) { return ops::reduce_min<1>(x); },
      [](const auto& x) { return ops::reduce_min_keep<0, 1>(x); });
  reduction<1>(
      "reduce_prod", [](const auto& x) { return reduce_prod(x); }, [](const auto& x) { return ops::reduce_prod<1>(x); },
      [](const auto& x) { return ops::reduce_prod_keep<0, 1>(x); });
  reduction(
      "logsumexp", [](const auto& x) { return logsumexp(x); }, [](const auto& x) { return ops::logsumexp<1>(x); },
      [](const auto& x) { return ops::logsumexp_keep<0, 1>(x); });
  reduction(
      "norm", [](const auto& x) { return norm(x); }, [](const auto& x) { return ops::norm<1>(x); },
      [](const auto& x) { return ops::norm_keep<0, 1>(x); });
  reduction(
      "l1_norm", [](const auto& x) { return l1_norm(x); }, [](const auto& x) { return ops::l1_norm<1>(x); },
      [](const auto& x) { return ops::l1_norm_keep<0, 1>(x); });
  reduction(
      "max_norm", [](const auto& x) { return max_norm(x); }, [](const auto& x) { return ops::max_norm<1>(x); },
      [](const auto& x) { return ops::max_norm_keep<0, 1>(x); });
  along(
      "reduce_var", [](const auto& x) { return ops::reduce_var<1>(x); },
      [](const auto& x) { return ops::reduce_var_keep<0, 1>(x, VarOptions{.ddof = 0}); });
  along(
      "reduce_std", [](const auto& x) { return ops::reduce_std<1>(x); },
      [](const auto& x) { return ops::reduce_std_keep<0, 1>(x, VarOptions{.ddof = 0}); });
});

const Group rows([] {
  along("softmax", [](const auto& x) { return softmax(x); }, [](const auto& x) { return ops::softmax<0>(x); });
  along(
      "log_softmax", [](const auto& x) { return log_softmax(x); },
      [](const auto& x) { return ops::log_softmax<0>(x); });
  along(
      "cumsum", [](const auto& x) { return ops::cumsum<1>(x); },
      [](const auto& x) { return ops::cumsum<0, true, true>(x); });
  along<1>(
      "cumprod", [](const auto& x) { return ops::cumprod<1>(x); },
      [](const auto& x) { return ops::cumprod<0, true, true>(x); });
  along(
      "l2_normalize", [](const auto& x) { return ops::l2_normalize<1>(x, 0x1p-10f); },
      [](const auto& x) { return ops::l2_normalize<0, 1>(x, 0x1p-10f); });
  along(
      "sort", [](const auto& x) { return std::get<0>(ops::sort<1>(x)); },
      [](const auto& x) { return std::get<0>(ops::sort<0, true>(x)); });
  along(
      "topk", [](const auto& x) { return std::get<0>(ops::topk<2, 1>(x)); },
      [](const auto& x) { return std::get<0>(ops::topk<2, 0, false>(x)); });
  check<D<dyn, 4>>("clip_by_norm", [](const auto& x) { return clip_by_norm(x, 0.5); });
});
