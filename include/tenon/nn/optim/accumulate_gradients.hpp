// Gradient accumulation: optimizers that update once for several batches.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/ops/accumulate_gradient.hpp>

namespace tenon::inline TENON_ABI::nn {

namespace detail {
/// The type of a sum of gradients of a parameter.
constexpr TensorType sum_type(const TensorType& parameter) {
  return is_half_dtype(parameter.dtype) ? parameter.with(Dtype::float32) : parameter;
}
}  // namespace detail

template <Optimizer O>
struct AccumulateGradients;

namespace detail {
std::false_type accumulates_in(const void*);
template <class O>
std::true_type accumulates_in(const AccumulateGradients<O>*);
template <class O>
inline constexpr bool accumulates = decltype(accumulates_in(static_cast<const O*>(nullptr)))::value;
}  // namespace detail

/// An optimizer that updates in every k-th step, with the mean of the gradients of k batches. The result is that of a
/// batch k times as large, with the memory of one batch. `nn::AccumulateGradients{nn::Adam{.learning_rate = 1e-3}, 4}`.
///
/// The optimizer counts updates, and so do learning rates that depend on the step. A sum that is incomplete at the end
/// of an epoch or a run continues in the next one; training files contain it. Clipping, inside or around it, uses the
/// mean. Sums are float32, or float64 as the parameter; they take as much memory as the parameters. With a loss scale
/// that drops updates, one overflow drops the update of all k batches. A parameter that is frozen in the first of k
/// batches begins its sum at 0. A Model throws ValueError unless `batches` is 1 or more, RuntimeError if it changes
/// after the Model was made. Source: Keras gradient_accumulation_steps, MindSpore's grad_accumulation_step.
template <Optimizer O>
struct AccumulateGradients : O {
  static_assert(!detail::accumulates<O>,
                "AccumulateGradients is around an optimizer that accumulates already: multiply the numbers of batches");
  long batches;

  static constexpr int slots = O::slots + 1, sum_slot = O::slots;
  static constexpr auto slot_names = [] {
    std::array<std::string_view, std::size_t(slots)> names{};
    for (int s = 0; s < O::slots; ++s) names[std::size_t(s)] = O::slot_names[std::size_t(s)];
    names.back() = "accumulated";
    return names;
  }();
  static constexpr TensorType slot_type(int slot, const TensorType& parameter) {
    if (slot == sum_slot) return detail::sum_type(parameter);
    if constexpr (requires { O::slot_type(slot, parameter); }) return O::slot_type(slot, parameter);
    else return parameter;
  }
  float initial([[maybe_unused]] int slot) const {
    if constexpr (requires(const O& o) { o.initial(slot); })
      if (slot != sum_slot) return O::initial(slot);
    return 0;
  }
  void check() const {
    O::check();
    if (batches < 1) throw_error<ValueError>("AccumulateGradients: batches must be 1 or more, got ", batches, ".");
  }
};
template <class O, class Count>
AccumulateGradients(O, Count) -> AccumulateGradients<O>;
template <class N, Optimizer O>
requires std::is_arithmetic_v<N>
AccumulateGradients(N, O) -> AccumulateGradients<detail::OtherOrder<"AccumulateGradients", O>>;

namespace detail {
/// The number of batches whose gradients an update uses.
template <class O>
constexpr long batches_of([[maybe_unused]] const O& optimizer) {
  if constexpr (accumulates<O>) return optimizer.batches;
  else return 1;
}
}  // namespace detail

}  // namespace tenon::nn
