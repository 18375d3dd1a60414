// The table of a network with the memory that its training takes.
#pragma once
#include <tenon/core/elsewhere.hpp>
#include <tenon/nn/summary.hpp>
#include <tenon/train/step/graphs.hpp>

namespace tenon::inline TENON_ABI {

template <class... A>
inline constexpr bool detail::is_included<detail::Header::training_summary, A...> = true;

/// nn::summary for a training step: `training_summary(net, loss, optimizer, x, label)`. The memory is that of
/// parameters, of the optimizer's state, and of the scratch that the plan of the compiled step has for this batch.
template <class Net, class Loss, class Optimizer, class X, class Y>
std::string training_summary(const Net& net, const Loss&, const Optimizer&, const X& x, const Y& label) {
  using KeyX = typename detail::KeyFor<X>::type;
  using Captured = Compiled<detail::TrainStep<Net, Loss, Optimizer, KeyX, typename detail::KeyFor<Y>::type>>;
  if constexpr (!Captured::ok) return report<Captured>();
  else {
    const ParameterList parameters(net);
    const std::vector<Node> nodes = detail::SummaryTrace<Net, KeyX>::nodes();
    const long n = detail::common_batch_size("training_summary", x, label);
    const int threads = get_context().num_threads;
    return detail::summary_text({parameters,
                                 nodes,
                                 n,
                                 {{"parameters", parameters.bytes()},
                                  {"optimizer state", StateLayout<Net, Optimizer>::table.bytes},
                                  {"scratch of a training step", Captured::program.bytes(n, threads)}}});
  }
}

}  // namespace tenon
