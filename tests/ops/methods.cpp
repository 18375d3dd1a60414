// Method forms of operators: x.mean<1>() is reduce_mean<1>(x), for tensors and while a graph is traced.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/abs.hpp>
#include <tenon/ops/argmax.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_min.hpp>
#include <tenon/ops/reduce_prod.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/sigmoid.hpp>
#include <tenon/ops/sqrt.hpp>
#include <tenon/ops/structural.hpp>
#include <tenon/ops/tanh.hpp>
#include <tenon/ops/transpose.hpp>

#include "../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
const auto x = random_tensor<float, Shape<dyn, 3, 4>>(1);

template <class F, class G>
void check_same(F method, G function) {
  CHECK(same_bits(both_modes(method, x).result, function(x)));
}
}  // namespace

TEST_CASE("reductions") {
  check_same([](const auto& v) { return v.template mean<1>(); }, [](const auto& v) { return reduce_mean<1>(v); });
  check_same([](const auto& v) { return v.template sum<-1>(); }, [](const auto& v) { return reduce_sum<-1>(v); });
  check_same([](const auto& v) { return v.template max<1, 2>(); }, [](const auto& v) { return reduce_max<1, 2>(v); });
  check_same([](const auto& v) { return v.min(); }, [](const auto& v) { return reduce_min(v); });
  check_same([](const auto& v) { return v.template prod<1>(); }, [](const auto& v) { return reduce_prod<1>(v); });
}

TEST_CASE("shapes") {
  check_same([](const auto& v) { return v.template reshape<Shape<dyn, 4, 3>>(); },
             [](const auto& v) { return reshape<Shape<dyn, 4, 3>>(v); });
  check_same([](const auto& v) { return v.flatten(); }, [](const auto& v) { return flatten(v); });
  check_same([](const auto& v) { return v.template transpose<0, 2, 1>(); },
             [](const auto& v) { return transpose<0, 2, 1>(v); });
}

TEST_CASE("element-wise functions, and where the largest element is") {
  check_same([](const auto& v) { return v.abs(); }, [](const auto& v) { return abs(v); });
  check_same([](const auto& v) { return v.exp(); }, [](const auto& v) { return exp(v); });
  check_same([](const auto& v) { return v.abs().log(); }, [](const auto& v) { return log(abs(v)); });
  check_same([](const auto& v) { return v.abs().sqrt(); }, [](const auto& v) { return sqrt(abs(v)); });
  check_same([](const auto& v) { return v.relu(); }, [](const auto& v) { return relu(v); });
  check_same([](const auto& v) { return v.sigmoid(); }, [](const auto& v) { return sigmoid(v); });
  check_same([](const auto& v) { return v.tanh(); }, [](const auto& v) { return tanh(v); });
  CHECK(same_bits(x.argmax(), argmax(x)));
  CHECK(same_bits(x.argmax<1>(), argmax<1>(x)));
}

TEST_CASE("a broken value passes through") {
  constexpr bool passes = [] {
    Builder b;
    const Broken broken(&b);
    return is_broken<decltype(broken.mean<1>())> && is_broken<decltype(broken.sum())> &&
           is_broken<decltype(broken.max<0>())> && is_broken<decltype(broken.reshape<Shape<3>>())> &&
           is_broken<decltype(broken.flatten())> && is_broken<decltype(broken.transpose<1, 0>())> &&
           is_broken<decltype(broken.relu())> && is_broken<decltype(broken.argmax<1>())>;
  }();
  static_assert(passes);
}
