// Snapshot: the values of all parameters of a network at one moment, to be restored later.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include <tenon/nn/parameters.hpp>
#include <tenon/train/callback/run/callback_state.hpp>
#if TENON_DEFINES
#include <cstring>

#include <tenon/core/memory/arena.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Throws ValueError for kept values, as those of a training file, that are not one for each element.
[[noreturn, gnu::cold]] void refuse_kept(std::string_view whose);

/// A copy of what the parameters of a network hold, trainable or not.
class Snapshot {
 public:
  bool empty() const { return values_.empty(); }
  void take(const ParameterList& parameters);
  void restore(const ParameterList& parameters) const;
  /// Throws ValueError if these are not its parameters, as it may be with what a file had.
  void check(const ParameterList& parameters, std::string_view whose) const;
  /// Where parameter i is, in the order of named_parameters(); a view to read from, as AnyTensor has no other.
  std::byte* values(std::size_t i) const { return const_cast<std::byte*>(values_[i].data()); }
  void state(CallbackState& state) { state(values_); }

 private:
  std::vector<std::vector<std::byte>> values_;
};

/// For a scope the network may have other weights than its own, which it has again after it, whatever is thrown.
/// `shown` is where others find its own weights meanwhile.
class OwnWeights {
 public:
  OwnWeights(const ParameterList& parameters, const Snapshot*& shown) : parameters_(parameters), shown_(shown) {
    kept_.take(parameters);
    outermost_ = !shown;
    if (outermost_) shown = &kept_;
  }
  ~OwnWeights() {
    kept_.restore(parameters_);
    if (outermost_) shown_ = nullptr;
  }
  OwnWeights(const OwnWeights&) = delete;
  OwnWeights& operator=(const OwnWeights&) = delete;

 private:
  ParameterList parameters_;
  const Snapshot*& shown_;
  Snapshot kept_;
  bool outermost_;
};

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void refuse_kept(std::string_view whose) {
  throw_error<ValueError>("The weights that ", whose,
                          " keeps are not those of this network: they are of a training of another one, or of a "
                          "training file that another one has written, or that is damaged. Give each network a "
                          "callback of its own, and load a file with the network that it was saved from.");
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void Snapshot::check(const ParameterList& parameters,
                                                               std::string_view whose) const {
  if (values_.empty()) return;
  std::size_t i = 0;
  for (int e = 0; e < parameters.entries(); ++e) {
    if (!parameters.table()[e].parameter || parameters.table()[e].setting) continue;
    if (i == values_.size() || values_[i++].size() != std::size_t(parameters.table()[e].dims.bytes(1)))
      refuse_kept(whose);
  }
  if (i != values_.size()) refuse_kept(whose);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void Snapshot::take(const ParameterList& parameters) {
  parameters.bind();
  values_.clear();
  for (int e = 0; e < parameters.entries(); ++e) {
    if (!parameters.table()[e].parameter || parameters.table()[e].setting) continue;
    const long bytes = parameters.table()[e].dims.bytes(1);
    const std::byte* const from = parameters.handle(e).values_at(bytes, Look::read);
    values_.emplace_back(from, from + bytes);
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void Snapshot::restore(const ParameterList& parameters) const {
  if (ParameterArena* const arena = parameters.arena()) arena->change();
  std::size_t i = 0;
  for (int e = 0; e < parameters.entries() && i < values_.size(); ++e)
    if (parameters.table()[e].parameter && !parameters.table()[e].setting) {
      std::memcpy(parameters.handle(e).values_at(long(values_[i].size()), Look::overwrite), values_[i].data(),
                  values_[i].size());
      ++i;
    }
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
