// The node of a condition in a graph, and its derivative: one of two bodies runs.
#pragma once
#include <tenon/ops/control/loop_kernel.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::ops {

/// The derivative of the body that ran. Operands: the condition, then those of LoopGrad. Not for users.
struct BranchGrad : Operator<BranchGrad, "CondGrad">, WithBody {
  using Config = LoopGradConfig;
  static constexpr None derivative{};
  static constexpr ResultTypes shape(const OperandTypes&, const Config& c, Sentence&) { return c.results(); }
};

/// A condition in a graph: cond(). Operands: the condition, then bundles, as of Loop: `carried` values are those that
/// the call hands to the bodies, `body` runs if the condition holds, else `condition`.
///
/// derivative  that of the body that ran; zeros for what only the other one uses
struct Branch : Operator<Branch, "Cond">, WithBody {
  using Config = LoopConfig;
  static constexpr ResultTypes shape(const OperandTypes&, const Config& c, Sentence&) { return c.results(); }
  static constexpr void derivative(Derivative& d) {
    const Config c = d.config<Branch>();
    if (c.kept) return detail::flow_through<BranchGrad>(d, c, 1);
    for (const int body : {c.body, c.condition})
      if (const BodyGradient found = differentiate(d.builder(), body); !found.builder.error.empty())
        return d.builder().fail(found.builder.error);
  }
};

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {

namespace detail {
/// The shapes of the two bodies.
template <class Config>
constexpr LoopShape branch_shape(const Config& c, bool taken) {
  LoopShape shape{.body = taken ? c.body : c.condition, .turns = 1};
  if (!taken) shape.before = c.body;
  shape.branch = true;
  return shape;
}
template <class Call, bool taken>
using BranchBody = ForwardBody<Call, branch_shape(Call::config(), taken), keeps_values<Call>>;
template <class Call, bool taken>
using BranchGradBody = BackwardBody<Call, branch_shape(Call::config(), taken)>;

/// The memory for two flags, then that of either body.
template <class Target, class Run, class Then, class Otherwise>
long branch_workspace(long n) {
  return alignment + math::max(loop_workspace<Target, Run>(Then::view(), Then::program, n),
                               loop_workspace<Target, Run>(Otherwise::view(), Otherwise::program, n));
}
/// Runs one of two bodies. `set` writes the addresses of bundles.
template <class Target, class Run, class Then, class Otherwise, class Set>
void run_branch(const Arguments& a, Set set) {
  Arguments inside = a;
  inside.workspace += alignment;
  const auto run = [&]<class Body>(std::type_identity<Body>, const char* part) {
    LoopView v = Body::view();
    v.part = part;
    set(v);
    run_loop<Target, Run>(v, Body::program, inside);
  };
  Moves<Target>::either(
      a.workspace, a.operand<bool>(0), [&] { run(std::type_identity<Then>(), "then"); },
      [&] { run(std::type_identity<Otherwise>(), "else"); });
}
}  // namespace detail

namespace kernel {
template <class Target>
template <class Call>
constexpr long BranchKernel<Target>::workspace(long n) {
  using namespace tenon::detail;
  if constexpr (requires { typename Call::Graph; })
    return branch_workspace<Target, LoopForward<Target>, BranchBody<Call, true>, BranchBody<Call, false>>(n);
  else return 1;
}
template <class Target>
template <class Call>
void BranchKernel<Target>::run(const Arguments& a, long, long) {
  using namespace tenon::detail;
  clear_observed_bundles<Target, Call>(a);
  run_branch<Target, LoopForward<Target>, BranchBody<Call, true>, BranchBody<Call, false>>(
      a, [&](LoopView& v) { set_bundles<Call>(v, a, 1); });
}
template <class Target>
template <class Call>
constexpr long BranchGradKernel<Target>::workspace(long n) {
  using namespace tenon::detail;
  if constexpr (requires { typename Call::Graph; })
    return branch_workspace<Target, LoopBackward<Target>, BranchGradBody<Call, true>, BranchGradBody<Call, false>>(n);
  else return 1;
}
template <class Target>
template <class Call>
void BranchGradKernel<Target>::run(const Arguments& a, long, long) {
  using namespace tenon::detail;
  clear_bundles<Target, Call>(a);  // also what only the other body uses
  run_branch<Target, LoopBackward<Target>, BranchGradBody<Call, true>, BranchGradBody<Call, false>>(
      a, [&](LoopView& v) { set_gradient_bundles<Call>(v, a, 1); });
}
}  // namespace kernel

}  // namespace tenon
TENON_INT_SIZES_END
