// A part of a Model that spreads its training over several processes: what the step asks it for.
#pragma once
#include <type_traits>

#include <tenon/nn/parameters.hpp>
#include <tenon/train/amp.hpp>
#include <tenon/train/step/state.hpp>

namespace tenon::inline TENON_ABI::detail {

/// In place of such a part: the Model trains alone.
struct OneProcess {};
template <class P>
inline constexpr bool is_parallel = false;

template <class... Parts>
struct ParallelAmong {
  using type = OneProcess;
};
template <class P, class... Parts>
struct ParallelAmong<P, Parts...> : std::conditional_t<is_parallel<P>, std::type_identity<P>, ParallelAmong<Parts...>> {
};
/// The part of this kind among those of a Model.
template <class... Parts>
const typename ParallelAmong<Parts...>::type& parallel_among(const Parts&... parts) {
  using Parallel = typename ParallelAmong<Parts...>::type;
  static constexpr OneProcess alone;
  if constexpr (std::is_same_v<Parallel, OneProcess>) return alone;
  else {
    const Parallel* found = nullptr;
    const auto look = [&]<class P>(const P& part) {
      if constexpr (std::is_same_v<P, Parallel>) found = &part;
    };
    (look(parts), ...);
    return *found;
  }
}

/// How a Model with such a part trains: what its graph does with gradients in place of the optimizer's updates, in
/// which precision, and `train`, which runs a step (train/data_parallel.hpp).
template <class Parallel>
class ParallelStep {
 public:
  template <class Net, class Optimizer>
  using UpdateOf = Optimizer;
  static constexpr MixedPrecision precision(MixedPrecision of_model) { return of_model; }
  explicit ParallelStep(const Parallel&) {}
  /// The samples of the smallest part of a batch that a graph sees at once.
  static constexpr long smallest(long n) { return n; }
};

/// What the ranks of a network in slices agree on, beside DataParallel or without it (train/shards/sliced_ranks.hpp).
template <class Net, bool sliced = has_slices<Net>>
class SlicedRanks {
  static_assert(!sliced, "a Model of a network in slices needs #include <tenon/dist.hpp>");
};

/// Whether a Model may have a part of the training state alone, and other processes the others.
template <class Step>
inline constexpr bool divides_state = requires(const Step& step) { step.elsewhere(); };
/// A flag per entry whose moments another process has, or null for none.
template <class Step>
const bool* moments_elsewhere([[maybe_unused]] const Step& step) {
  if constexpr (divides_state<Step>) return step.elsewhere();
  else return nullptr;
}
/// A new training state: zeros. Throws OutOfMemory if there is no room for it.
template <class Net, class Optimizer, class Step>
TrainState training_state(const ParameterList& parameters, [[maybe_unused]] Step& step) {
  using Layout = StateLayout<Net, Optimizer>;
  const auto checked = [&](long bytes) { return check_training_memory(parameters, Layout::table.numbers, bytes); };
  if constexpr (divides_state<Step>)
    if (std::byte* const zeros = step.template divided_state<Optimizer, Layout>(parameters, checked))
      return TrainState(Layout::table.bytes, get_context().seed, zeros);
  return TrainState(checked(Layout::table.bytes), get_context().seed);
}

}  // namespace tenon::detail
