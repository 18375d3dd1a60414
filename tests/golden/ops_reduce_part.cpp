// Reductions and softmax against MindSpore's results (golden/ops).
#include <tenon/ops/clip.hpp>
#include <tenon/ops/log_softmax.hpp>
#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_min.hpp>
#include <tenon/ops/reduce_prod.hpp>
#include <tenon/ops/reduce_sum.hpp>
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
