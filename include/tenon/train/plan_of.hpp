// The memory plan of a Model's step, for programs that limit their memory.
#pragma once
#include <tenon/train/model.hpp>

namespace tenon::inline TENON_ABI {

/// The memory of a compiled step in addition to parameters and optimizer state; all sizes are known at compile time.
struct StepPlan {
  const Program* program;

  /// Bytes of scratch memory for a batch of n on this many threads: allocated before the first step, none during a
  /// step.
  constexpr long bytes(long n, int threads = 1) const { return program->bytes(n, threads); }
  /// Calls of kernels in a step.
  constexpr int kernels() const { return program->instructions; }
};

namespace detail {
template <class Runner, class Columns>
struct StepOf;
template <class Runner, class... C>
requires(Runner::trains)
struct StepOf<Runner, dataset::Columns<C...>> {
  using type = typename Runner::template TrainGraph<C...>;
};
template <class Runner, class... C>
requires(!Runner::trains)
struct StepOf<Runner, dataset::Columns<C...>> {
  using type = typename Runner::template EvalGraph<C...>;
};
template <class Runner, class... L>
struct StepOf<Runner, dataset::BucketColumns<L...>> : StepOf<Runner, typename dataset::BucketColumns<L...>::last> {};
}  // namespace detail

/// The plan of the step that model.train(epochs, data) runs in graph mode; of a Model without an optimizer, that of
/// model.eval(data): `static_assert(plan_of(model, data).bytes(32, 1) < 1 << 20);`. Of several buckets it is the last
/// one's. Errors of the step are compile errors here as they are there.
template <class M, class D>
constexpr StepPlan plan_of(const M&, const D&) {
  using Graph = typename detail::StepOf<typename M::runner_type, typename D::columns>::type;
  if constexpr (!Graph::ok) return report<Graph>();
  else return {&Graph::program};
}

}  // namespace tenon
