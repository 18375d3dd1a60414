// Snapshot: the values of all parameters of a network at one moment, to be given back later.
#pragma once
#include <cstddef>
#include <cstring>
#include <vector>

#include <tenon/train/callback/callback_state.hpp>
#include <tenon/train/checkpoint.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A copy of what the parameters of a network hold, trainable or not.
class Snapshot {
 public:
  bool empty() const { return values_.empty(); }
  template <class Net>
  void take(const Net& net) {
    const std::vector<io::NamedTensor> parameters = named_parameters_of(ParameterList(net));
    values_.resize(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto* const from = static_cast<const std::byte*>(parameters[i].tensor.data);
      values_[i].assign(from, from + parameters[i].tensor.bytes());
    }
  }
  template <class Net>
  void restore(const Net& net) const {
    const ParameterList list(net);
    const std::vector<io::NamedTensor> parameters = named_parameters_of(list);
    if (ParameterArena* const arena = list.arena()) arena->change();
    for (std::size_t i = 0; i < parameters.size() && i < values_.size(); ++i)
      std::memcpy(parameters[i].tensor.data, values_[i].data(), values_[i].size());
  }
  void state(CallbackState& state) { state(values_); }

 private:
  std::vector<std::vector<std::byte>> values_;
};

}  // namespace tenon::detail
