// Reductions and softmax against MindSpore's results (golden/ops).
#include <tenon/ops/clip.hpp>
#include <tenon/ops/l2_normalize.hpp>
#include <tenon/ops/log_softmax.hpp>
#include <tenon/ops/logsumexp.hpp>
#include <tenon/ops/norm.hpp>
#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_min.hpp>
#include <tenon/ops/reduce_prod.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/reduce_var.hpp>
#include <tenon/ops/softmax.hpp>
#include <tenon/ops/structural.hpp>

#include "ops.hpp"

using namespace tenon;
using namespace support;

namespace {
const In<float, Shape<2, 3, 4>> x234{"x"};
}

const Group sums("reduce_sum", [] {
  check_case("reduce_sum_None_n", {}, [](const auto& x) { return reduce_sum(x); }, x234);
  check_case("reduce_sum_1_k", {}, [](const auto& x) { return reduce_sum_keep<1>(x); }, x234);
  check_case("reduce_sum_0_2_n", {}, [](const auto& x) { return reduce_sum<0, 2>(x); }, x234);
  check_case("reduce_sum_-1_n", {}, [](const auto& x) { return reduce_sum<-1>(x); }, x234);
});

const Group means("reduce_mean", [] {
  check_case("reduce_mean_None_n", {}, [](const auto& x) { return reduce_mean(x); }, x234);
  check_case("reduce_mean_1_k", {}, [](const auto& x) { return reduce_mean_keep<1>(x); }, x234);
  check_case("reduce_mean_0_2_n", {}, [](const auto& x) { return reduce_mean<0, 2>(x); }, x234);
  check_case("reduce_mean_-1_n", {}, [](const auto& x) { return reduce_mean<-1>(x); }, x234);
});

const Group maxima("reduce_max", [] {
  check_case("reduce_max_None_n", {}, [](const auto& x) { return reduce_max(x); }, x234);
  check_case("reduce_max_1_k", {}, [](const auto& x) { return reduce_max_keep<1>(x); }, x234);
  check_case("reduce_max_0_2_n", {}, [](const auto& x) { return reduce_max<0, 2>(x); }, x234);
  check_case("reduce_max_-1_n", {}, [](const auto& x) { return reduce_max<-1>(x); }, x234);
});

const Group minima("reduce_min", [] {
  check_case("reduce_min_None_n", {}, [](const auto& x) { return reduce_min(x); }, x234);
  check_case("reduce_min_1_k", {}, [](const auto& x) { return reduce_min_keep<1>(x); }, x234);
  check_case("reduce_min_0_2_n", {}, [](const auto& x) { return reduce_min<0, 2>(x); }, x234);
  check_case("reduce_min_-1_n", {}, [](const auto& x) { return reduce_min<-1>(x); }, x234);
});

const Group prods("reduce_prod", [] {
  check_case("reduce_prod_1_k", {}, [](const auto& x) { return reduce_prod_keep<1>(x); }, x234);
  check_case("reduce_prod_-1_n", {}, [](const auto& x) { return reduce_prod<-1>(x); }, x234);
});

const Group deviations("reduce_std and reduce_var", [] {
  check_case("reduce_std_None_n", {}, [](const auto& x) { return reduce_std(x); }, x234);
  check_case("reduce_std_1_k", {}, [](const auto& x) { return reduce_std_keep<1>(x); }, x234);
  check_case("reduce_std_0_2_n", {}, [](const auto& x) { return reduce_std<0, 2>(x); }, x234);
  check_case("reduce_std_-1_n", {}, [](const auto& x) { return reduce_std<-1>(x); }, x234);
  check_case("reduce_var_None_n", {}, [](const auto& x) { return reduce_var(x); }, x234);
  check_case("reduce_var_1_k", {}, [](const auto& x) { return reduce_var_keep<1>(x); }, x234);
  check_case("reduce_var_0_2_n", {}, [](const auto& x) { return reduce_var<0, 2>(x); }, x234);
  check_case("reduce_var_-1_n", {}, [](const auto& x) { return reduce_var<-1>(x); }, x234);
});

const Group exponentials("logsumexp", [] {
  check_case("reduce_logsumexp_1_k", {}, [](const auto& x) { return logsumexp_keep<1>(x); }, x234);
  check_case("reduce_logsumexp_0_2_n", {}, [](const auto& x) { return logsumexp<0, 2>(x); }, x234);
  check_case("reduce_logsumexp_-1_n", {}, [](const auto& x) { return logsumexp<-1>(x); }, x234);
});

const Group norms("norms", [] {
  check_case("norm_p1", {}, [](const auto& x) { return l1_norm<1>(x); }, In<float, Shape<4, 6>>{"x"});
  check_case("norm_p2", {}, [](const auto& x) { return norm<1>(x); }, In<float, Shape<4, 6>>{"x"});
});

const Group lengths("l2_normalize", [] {
  check_case("l2_normalize", {}, [](const auto& x) { return l2_normalize<1>(x); }, In<float, Shape<4, 5>>{"x"});
});

const Group all_and_any("all and any: the smallest and the largest of bool", [] {
  check_case("all", {}, [](const auto& x) { return reduce_min<1>(x); }, In<bool, Shape<4, 3>>{"x"});
  check_case("any", {}, [](const auto& x) { return reduce_max<0>(x); }, In<bool, Shape<4, 3>>{"x"});
});

const Group softmaxes("softmax and log_softmax", [] {
  const In<float, Shape<3, 4, 5>> x{"x"};
  check_case("softmax_ax-1", {}, [](const auto& v) { return softmax(v); }, x);
  check_case("softmax_ax1", {}, [](const auto& v) { return softmax<1>(v); }, x);
  check_case("softmax_large", {}, [](const auto& v) { return softmax(v); }, In<float, Shape<3, 3>>{"x"});
  check_case("log_softmax_ax-1", {}, [](const auto& v) { return log_softmax(v); }, x);
  check_case("log_softmax_ax1", {}, [](const auto& v) { return log_softmax<1>(v); }, x);
});

const Group clips("clipping by value, by norm, by global norm", [] {
  const In<float, Shape<5, 6>> x{"x"};
  check_case("clip_by_value", {}, [](const auto& x) { return clip_by_value(x, -0.5f, 0.8f); }, x);
  check_case("clip_by_norm", {}, [](const auto& x) { return clip_by_norm(x, 1.0f); }, x);
  golden_case("clip_by_global_norm", [](const Npz& golden) {
    const auto [a, b] = clip_by_global_norm(
        std::tuple(to_tensor<float, Shape<5, 6>>(golden["in/x"], "x"), to_tensor<float, Shape<4>>(golden["in/y"], "y")),
        1.0f);
    check_near(a, golden, "out/0");
    check_near(b, golden, "out/1");
  });
});
