// Saves the parameters of a network to a file, and loads them again.
#pragma once
#include <tenon/io/safetensors.hpp>
#include <tenon/nn/cell.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
[[gnu::cold]] void check_checkpoint_path(std::string_view act, const std::string& path);
std::vector<io::NamedTensor> named_parameters_of(const ParameterList& list);
template <FixedString call, class Net>
struct ArgumentsSwapped {
  static constexpr Sentence sentence = Sentence{} << "the arguments stand in the other order: " << call.view();
};
}  // namespace detail

/// Views of all parameters of a network, trainable or not, in the order of their declaration, with the names that
/// checkpoints use: "conv1.weight". They are valid as long as the network. Binds the parameters if that has not been
/// done.
template <AnyCell Net>
std::vector<io::NamedTensor> named_parameters(const Net& net) {
  const ParameterList list(net);
  std::vector<io::NamedTensor> result = detail::named_parameters_of(list);
  if (ParameterArena* const arena = list.arena()) arena->hand_out();
  return result;
}

/// Writes all parameters of a network to a safetensors file, which appears complete or not at all.
/// Throws ValueError if the path does not end with ".safetensors", RuntimeError if the file cannot be written.
template <AnyCell Net>
[[gnu::noinline]] void save_checkpoint(const Net& net, const std::string& path) {
  detail::check_checkpoint_path("save", path);
  io::save_safetensors(path, detail::named_parameters_of(ParameterList(net)));
}

/// Says in which order the arguments stand.
template <AnyCell Net>
void save_checkpoint(const std::string&, const Net&) {
  using Wrong = Mistake<detail::ArgumentsSwapped<"save_checkpoint(net, \"net.safetensors\")", Net>>;
  static_cast<void>(Wrong::corrected);
}

/// Reads a checkpoint's parameters into a network of the same structure. With strict nothing changes unless everything
/// fits; `load_checkpoint(path, net, false)` loads what fits and says what it left out:
///
///     const auto left = load_checkpoint("pretrained.safetensors", net, false);
///     for (const std::string& name : left.mismatched) std::printf("%s has another shape\n", name.c_str());
///
/// strict   refuse names that are only in the file or only in the network, other dtypes, and other shapes
/// result   the names left out: missing in the file, unexpected in the file, mismatched in shape or dtype
/// throws   KeyError with the nearest names, TypeError for another dtype, ValueError for another shape (all strict);
///          ValueError for another suffix, RuntimeError for a file that is missing or damaged
template <AnyCell Net>
[[gnu::noinline]] io::LoadReport load_checkpoint(const std::string& path, const Net& net, bool strict = true) {
  detail::check_checkpoint_path("load", path);
  const ParameterList list(net);
  const std::vector<io::NamedTensor> parameters = detail::named_parameters_of(list);
  if (ParameterArena* const arena = list.arena()) arena->change();  // before it: a damaged file may end it half-way
  return io::load_safetensors(path, parameters, strict);
}

/// Says in which order the arguments stand.
template <AnyCell Net>
void load_checkpoint(const Net&, const std::string&) {
  using Wrong = Mistake<detail::ArgumentsSwapped<"load_checkpoint(\"net.safetensors\", net)", Net>>;
  static_cast<void>(Wrong::corrected);
}

/// Reads a checkpoint without a network: `load_checkpoint(path).find("conv1.weight")` is an AnyTensor or null,
/// `.tensors()` has all of them. The views are valid as long as the result. Throws as above.
io::Safetensors load_checkpoint(const std::string& path);

#if TENON_DEFINES
namespace detail {
TENON_INLINE void check_checkpoint_path(std::string_view act, const std::string& path) {
  constexpr std::string_view suffix = ".safetensors";
  if (path.size() > suffix.size() && std::string_view(path).substr(path.size() - suffix.size()) == suffix) return;
  throw_error<ValueError>(
      "Cannot ", act, " '", path,
      "': the name of a checkpoint ends with '.safetensors', the format that is written and read here.");
}
TENON_INLINE std::vector<io::NamedTensor> named_parameters_of(const ParameterList& list) {
  list.bind();
  std::vector<io::NamedTensor> result;
  for (int e = 0; e < list.entries(); ++e)
    if (list.table()[e].parameter && !list.table()[e].setting)
      result.push_back(
          {parameter_name(list.table(), e), AnyTensor(list.table()[e].dims, 1, list.handle(e).values_at())});
  return result;
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE io::Safetensors load_checkpoint(const std::string& path) {
  detail::check_checkpoint_path("load", path);
  return io::Safetensors(path);
}
#endif  // TENON_DEFINES

}  // namespace tenon
