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
}  // namespace detail

namespace kernel {
template <class Target>
struct BranchKernel : RunsBodies {
  template <class Call, bool taken>
  using Body = tenon::detail::ForwardBody<Call, tenon::detail::branch_shape(Call::config(), taken),
                                          tenon::detail::keeps_values<Call>>;
  template <class Call, bool taken>
  static long bytes(long n) {
    return tenon::detail::loop_workspace<Target, tenon::detail::LoopForward>(Body<Call, taken>::view(),
                                                                             Body<Call, taken>::program, n);
  }
  template <class Call>
  static constexpr long workspace(long n) {
    if constexpr (requires { typename Call::Graph; })
      return alignment + math::max(bytes<Call, true>(n), bytes<Call, false>(n));
    else return 1;
  }
  template <class Call, bool taken>
  static void run_body(const Arguments& a) {
    tenon::detail::LoopView v = Body<Call, taken>::view();
    tenon::detail::set_bundles<Call>(v, a, 1);
    tenon::detail::run_loop<Target, tenon::detail::LoopForward>(v, Body<Call, taken>::program, a);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    Arguments inside = a;
    inside.workspace += alignment;
    Moves<Target>::either(
        a.workspace, a.operand<bool>(0), [&] { run_body<Call, true>(inside); }, [&] { run_body<Call, false>(inside); });
  }
};
template <class Target>
struct BranchGradKernel : RunsBodies {
  template <class Call, bool taken>
  using Body = tenon::detail::BackwardBody<Call, tenon::detail::branch_shape(Call::config(), taken)>;
  template <class Call, bool taken>
  static long bytes(long n) {
    return tenon::detail::loop_workspace<Target, tenon::detail::LoopBackward>(Body<Call, taken>::view(),
                                                                              Body<Call, taken>::program, n);
  }
  template <class Call>
  static constexpr long workspace(long n) {
    if constexpr (requires { typename Call::Graph; })
      return alignment + math::max(bytes<Call, true>(n), bytes<Call, false>(n));
    else return 1;
  }
  template <class Call, bool taken>
  static void run_body(const Arguments& a) {
    tenon::detail::LoopView v = Body<Call, taken>::view();
    tenon::detail::set_gradient_bundles<Call>(v, a, 1);
    tenon::detail::run_loop<Target, tenon::detail::LoopBackward>(v, Body<Call, taken>::program, a);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const ResultTypes types = Call::config().results();
    for (int k = 0; k < types.count; ++k)  // also what only the other body uses
      if (std::byte* const to = tenon::detail::result_address<Call>(a, k))
        if (const long bytes = types[k].bytes(a.n)) Moves<Target>::clear(to, bytes);
    Arguments inside = a;
    inside.workspace += alignment;
    Moves<Target>::either(
        a.workspace, a.operand<bool>(0), [&] { run_body<Call, true>(inside); }, [&] { run_body<Call, false>(inside); });
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Branch> : kernel::BranchKernel<Cpu> {};
template <>
struct Kernel<Cpu, ops::BranchGrad> : kernel::BranchGradKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::Branch> : kernel::BranchKernel<Reference> {};
template <>
struct Kernel<Reference, ops::BranchGrad> : kernel::BranchGradKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::Branch> : kernel::BranchKernel<Cuda> {};
template <>
struct Kernel<Cuda, ops::BranchGrad> : kernel::BranchGradKernel<Cuda> {};

}  // namespace tenon
TENON_INT_SIZES_END
