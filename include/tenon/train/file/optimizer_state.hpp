// Which tensors of a checkpoint are an optimizer's state, not parameters of a network.
#pragma once
#include <string_view>

#include <tenon/io/tensors/held_tensors.hpp>

namespace tenon::inline TENON_ABI::detail {

/// True for what a training saves beside the network, by Tenon's and MindSpore's names: moments such as
/// "moment1.fc.weight", where "fc.weight" is one of the file's names, too; numbers such as "global_step" and
/// "beta1_power"; "tenon.training". `names`: of the whole file.
[[gnu::cold]] bool is_optimizer_state(const io::NamedTensor& tensor, const io::SortedNames& names);

#if TENON_DEFINES
TENON_INLINE bool is_optimizer_state(const io::NamedTensor& tensor, const io::SortedNames& names) {
  // the slot_names of nn/optim, and what MindSpore's optimizers have besides
  constexpr std::string_view slots = " accum accum_update accumulated adam_m adam_v ax_ exp_avg exp_avg_sq "
                                     "exp_avg_sq_col exp_avg_sq_row lamb_m lamb_v linear "
                                     "mean_grad mean_square moment moment1 moment2 moments prev stat step_size vhat ";
  constexpr std::string_view numbers =
      " beta1_power beta2_power current_iterator_step epoch_num global_step last_overflow_iterator_step learning_rate "
      "loss_scale momentum scale_sense step_num weight_decay ";
  const auto one_of = [](std::string_view list, std::string_view word) {
    return word.find(' ') == word.npos && list.find(text(" ", word, " ")) != list.npos;
  };
  const std::string_view name = tensor.name;
  if (name.starts_with("tenon.")) return true;
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return tensor.tensor.count() == 1 && one_of(numbers, name);
  return one_of(slots, name.substr(0, dot)) && names.find(name.substr(dot + 1)) != io::SortedNames::none;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
