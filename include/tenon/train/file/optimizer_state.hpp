// Which tensors of a checkpoint are an optimizer's state, not parameters of a network.
#pragma once
#include <string_view>

#include <tenon/io/tensors/held_tensors.hpp>

namespace tenon::inline TENON_ABI::detail {

/// True for what a training saves beside the network, by Tenon's and MindSpore's names: moments such as
/// "moment1.fc.weight", where "fc.weight" is one of the file's names, too; numbers such as "global_step" and
/// "beta1_power"; "tenon.training". `names`: of the whole file.
[[gnu::cold]] bool is_optimizer_state(const io::NamedTensor& tensor, const io::SortedNames& names);

/// True for moments that need no mention in a file: those of Tenon's optimizers and of MindSpore's. Others, such as
/// "mean" of an optimizer of yours, have an entry "tenon.slot.mean".
[[gnu::cold]] bool is_known_slot(std::string_view slot);
inline constexpr std::string_view slot_entry_prefix = "tenon.slot.";

#if TENON_DEFINES
inline bool is_word_of(std::string_view list, std::string_view word) {
  return word.find(' ') == word.npos && list.find(text(" ", word, " ")) != list.npos;
}
TENON_INLINE bool is_known_slot(std::string_view slot) {
  return is_word_of(" accum accum_update accumulated adam_m adam_v ax_ exp_avg exp_avg_sq exp_avg_sq_col "
                    "exp_avg_sq_row lamb_m lamb_v "
                    "linear mean_grad mean_square moment moment1 moment2 moments prev stat step_size vhat ",
                    slot);
}
TENON_INLINE bool is_optimizer_state(const io::NamedTensor& tensor, const io::SortedNames& names) {
  constexpr std::string_view numbers =
      " beta1_power beta2_power current_iterator_step epoch_num global_step last_overflow_iterator_step learning_rate "
      "loss_scale momentum scale_sense step_num weight_decay ";
  const auto has = [&](std::string_view name) { return names.find(name) != io::SortedNames::none; };
  const std::string_view name = tensor.name;
  if (name.starts_with("tenon.")) return true;
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return tensor.tensor.count() == 1 && is_word_of(numbers, name);
  const std::string_view slot = name.substr(0, dot);
  return has(name.substr(dot + 1)) && (is_known_slot(slot) || has(text(slot_entry_prefix, slot)));
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
