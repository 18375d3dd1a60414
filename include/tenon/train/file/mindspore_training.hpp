// MindSporeNumbers: what MindSpore's checkpoints of a training hold beside parameters and moments, under its names.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/tensors/named_value.hpp>
#include <tenon/train/checkpoint.hpp>
#if TENON_DEFINES
#include <algorithm>

#include <tenon/core/log/log.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Numbers of a training as MindSpore's optimizers name them. NaN: the optimizer, or the file, has none.
struct MindSporeNumbers {
  static constexpr float none = std::numeric_limits<float>::quiet_NaN();

  std::int32_t global_step = -1;                 // updates so far; below 0: the file has no training
  std::int64_t epochs = 0;                       // epoch_num, which MindSpore's ModelCheckpoint appends on request
  float learning_rate = none;                    // a fixed one
  float momentum = none;                         // of Momentum and SGD
  float beta1_power = none, beta2_power = none;  // of Adam and AdaMax: beta to the number of updates
  float loss_scale = none;                       // of a DynamicLossScaleManager; read, not written
  std::int64_t scaled_steps = 0, overflow = 0;   // its steps, and the last of them that overflowed

  /// Those of an optimizer after some updates.
  template <class Optimizer>
  static MindSporeNumbers of(const Optimizer& optimizer, std::int64_t step) {
    MindSporeNumbers n;
    n.global_step = std::int32_t(step);
    if (optimizer.learning_rate.is_number()) n.learning_rate = float(optimizer.learning_rate.at(0));
    if constexpr (requires { optimizer.momentum; })
      if constexpr (Optimizer::name == "Momentum" || Optimizer::name == "SGD") n.momentum = float(optimizer.momentum);
    constexpr bool adam = Optimizer::name == "Adam";
    if constexpr (adam || Optimizer::name == "AdaMax")
      n.beta1_power = float(std::pow(double(optimizer.beta1), double(step)));
    if constexpr (adam) n.beta2_power = float(std::pow(double(optimizer.beta2), double(step)));
    return n;
  }
  /// Appends views of those that are there, unless a tensor or a value has the name already. This is not to move then.
  [[gnu::cold]] void add_to(std::vector<io::NamedTensor>& all, const std::vector<io::NamedValue>& values);
  /// Warns of numbers with which `file` was trained and `own` is not.
  [[gnu::cold]] static void compare(const std::string& path, const MindSporeNumbers& file, const MindSporeNumbers& own);
};

/// True for names of MindSporeNumbers.
[[gnu::cold]] bool is_mindspore_number(std::string_view name);
/// What the tensor of a MindSpore training is called here: Lamb's "lamb_m.fc.weight" is "moment1.fc.weight". Empty for
/// what Tenon computes from the step: SGD's "stat.fc.weight", ASGD's "eta_fc.weight" and "mu_fc.weight".
[[gnu::cold]] std::string name_of_mindspore_state(const io::NamedTensor& tensor, const io::SortedNames& names);
/// The numbers of a file. Throws ValueError for a step that no training has.
[[gnu::cold]] MindSporeNumbers read_mindspore_numbers(const std::string& path);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE bool is_mindspore_number(std::string_view name) {
  constexpr std::string_view names[]{"global_step", "learning_rate", "momentum", "beta1_power", "beta2_power"};
  return std::ranges::find(names, name) != std::end(names);
}
[[gnu::noinline]] TENON_INLINE void MindSporeNumbers::add_to(std::vector<io::NamedTensor>& all,
                                                             const std::vector<io::NamedValue>& values) {
  const auto add = [&](std::string_view name, const AnyTensor& tensor) {
    if (std::ranges::find(all, name, &io::NamedTensor::name) == all.end() &&
        std::ranges::find(values, name, &io::NamedValue::name) == values.end())
      all.push_back({std::string(name), tensor});
  };
  constexpr std::int64_t one = 1;
  add("global_step", AnyTensor(Dtype::int32, {&one, 1}, &global_step));
  const auto add_real = [&](std::string_view name, float& value) {
    if (!std::isnan(value)) add(name, AnyTensor(Dtype::float32, std::span<const std::int64_t>(), &value));
  };
  add_real("learning_rate", learning_rate);
  add_real("beta1_power", beta1_power);
  add_real("beta2_power", beta2_power);
  add_real("momentum", momentum);
}
[[gnu::noinline]] TENON_INLINE std::string name_of_mindspore_state(const io::NamedTensor& tensor,
                                                                   const io::SortedNames& names) {
  const std::string_view name = tensor.name;
  const auto is_state = [&](std::string_view prefix) {
    return name.starts_with(prefix) && names.find(name.substr(prefix.size())) != io::SortedNames::none;
  };
  for (const std::string_view computed : {"stat.", "eta_", "mu_"})
    if (is_state(computed)) return {};
  for (const auto& [theirs, own] : {std::pair("lamb_m.", "moment1."), std::pair("lamb_v.", "moment2.")})
    if (is_state(theirs)) return own + std::string(name.substr(std::string_view(theirs).size()));
  return tensor.name;
}
[[gnu::noinline]] TENON_INLINE MindSporeNumbers read_mindspore_numbers(const std::string& path) {
  MindSporeNumbers numbers;
  read_checkpoint(path, [&](const io::HeldTensors& file) {
    const auto whole = [&](std::string_view name, std::int64_t missing) {
      for (const io::NamedTensor& one : file.tensors)
        if (one.name == name && one.tensor.count() == 1) {
          if (one.tensor.dtype == Dtype::int32) return std::int64_t(one.tensor.as<std::int32_t>()[0]);
          if (one.tensor.dtype == Dtype::int64) return one.tensor.as<std::int64_t>()[0];
        }
      return missing;
    };
    const auto real = [&](std::string_view name) {
      for (const io::NamedTensor& one : file.tensors)
        if (one.name == name && one.tensor.dtype == Dtype::float32 && one.tensor.count() == 1)
          return one.tensor.as<float>()[0];
      return MindSporeNumbers::none;
    };
    const std::int64_t step = whole("global_step", -1);
    if (step < -1 || step > std::numeric_limits<std::int32_t>::max())
      throw_error<ValueError>("'", path, "' is damaged: the global_step of its training is ", step, ".");
    numbers.global_step = std::int32_t(step);
    numbers.epochs = std::clamp<std::int64_t>(whole("epoch_num", 0), 0, std::int64_t{1} << 62);
    numbers.learning_rate = real("learning_rate"), numbers.momentum = real("momentum");
    numbers.loss_scale = real("scale_sense");
    numbers.scaled_steps = std::max<std::int64_t>(whole("current_iterator_step", 0), 0);
    numbers.overflow = std::max<std::int64_t>(whole("last_overflow_iterator_step", 0), 0);
    numbers.beta1_power = real("beta1_power"), numbers.beta2_power = real("beta2_power");
  });
  return numbers;
}
[[gnu::noinline]] TENON_INLINE void MindSporeNumbers::compare(const std::string& path, const MindSporeNumbers& file,
                                                              const MindSporeNumbers& own) {
  const auto warn = [&](std::string_view what, float theirs, float mine) {
    constexpr float rounding = 1e-3f;  // MindSpore multiplies powers in float32, step by step
    if (std::isnan(theirs) || std::isnan(mine) || std::fabs(theirs - mine) <= rounding * std::fabs(theirs) + 1e-30f)
      return;
    logging::warning("'", path, "' was trained with another optimizer: its ", what, " is ", theirs, ", and ", mine,
                     " here after ", file.global_step, " steps. The training goes on with this Model's numbers.");
  };
  warn("momentum", file.momentum, own.momentum);
  warn("beta1_power", file.beta1_power, own.beta1_power);
  warn("beta2_power", file.beta2_power, own.beta2_power);
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
