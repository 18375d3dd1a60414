// What an optimizer has to say before the updates of a step: numbers in the training state.
#pragma once
#include <tenon/nn/optim/update/update_rules.hpp>
#include <tenon/train/step/state.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// The first batch overwrites a sum over batches, but not that of a parameter without requires_grad: its old sum would
/// be added to the gradients when the parameter is trained again.
template <class Net, class Optimizer>
[[gnu::cold, gnu::noinline]] void clear_frozen_sums(const TrainState& state, const ParameterList& parameters) {
  using Layout = StateLayout<Net, Optimizer>;
  constexpr int slot = Optimizer::sum_slot;
  for (int e = 0; e < Layout::entries; ++e) {
    if (!Layout::table.numbers[e] || parameters.handle(e).requires_grad()) continue;
    const TensorType type = Layout::slot_type(slot, Structure<Net>::table.entry[e].dims);
    const auto bytes = std::size_t(type.bytes(1));
    std::memset(state.data(Layout::table.slot[e][slot], bytes, Look::overwrite), 0, bytes);
  }
}
/// Writes what the updates of the next step read.
///
/// factor   what the gradients are to be divided by beside the optimizer's own loss_scale
/// skipped  updates that did not happen so far: they do not count for the optimizer
/// guarded  the updates look at the overflow flag
template <class Net, bool guarded, class Optimizer>
void write_numbers(TrainState& state, [[maybe_unused]] const ParameterList& parameters, nn::UpdateRules& rules,
                   const Optimizer& optimizer, float factor = 1, long skipped = 0) {
  using Layout = StateLayout<Net, Optimizer>;
  constexpr bool accumulates = nn::detail::accumulates<Optimizer>;
  constexpr nn::Clipping clipping = nn::detail::clipping_of<Optimizer>;
  const long batches = nn::detail::batches_of(optimizer);
  if constexpr (accumulates) rules.keep_batches(batches);
  const long place = state.step() % batches;
  if constexpr (accumulates) {
    state.first_gradient(place == 0);
    const ParameterArena* const arena = parameters.arena();
    if (place == 0 && arena && arena->freeze_version != state.flags_version) {
      clear_frozen_sums<Net, Optimizer>(state, parameters);
      state.flags_version = arena->freeze_version;
    }
  }
  if constexpr (guarded || accumulates) state.overflow(place + 1 < batches ? no_update_yet : 0);
  if constexpr (clipping != nn::Clipping::none) {
    // elements are compared before the update divides them by the loss scale, norms after that
    float most = optimizer.largest();
    if (clipping == nn::Clipping::by_value) most *= optimizer.loss_scale * factor * float(batches);
    state.gradient_clip(most), state.gradient_squares(0);
  }
  rules.each(optimizer, state.step() / batches - skipped, place + 1 == batches, [&](int e, nn::Numbers n) {
    n.gradient_scale() /= factor * float(batches);
    state.numbers(Layout::table.numbers[e], n);
  });
}

/// Before the updates run alone. `gradients` has an address per entry of the network, null where there is no gradient.
/// What has none in this step is treated as frozen: an update may read what is made of the gradient, a sum over batches
/// or clipped elements, and has no input then that could be missing.
template <class Net>
void prepare_updates(Executor& update, const ParameterList& parameters, const void* const* gradients) {
  constexpr unsigned other_flags = ~0u;  // no version: the next step asks again what is frozen
  bool idle[Structure<Net>::count]{}, lacks = false;
  for (int e = 0; e < Structure<Net>::count; ++e) {
    const bool trains = Structure<Net>::table.entry[e].trainable && parameters.handle(e).requires_grad();
    idle[e] = Structure<Net>::table.entry[e].trainable && !(trains && gradients[e]);
    lacks |= trains && !gradients[e];
  }
  if (lacks) update.freeze(idle, other_flags);
}
/// Runs them.
template <class Net>
void run_updates(Executor& update, const ParameterList& parameters, const void* const* gradients) {
  prepare_updates<Net>(update, parameters, gradients);
  update.run(gradients, 1);
}

}  // namespace tenon::inline TENON_ABI::detail
TENON_INT_SIZES_END
