// Saves the parameters of a network to a file, and loads them again.
#pragma once
#include <tenon/core/function_ref.hpp>
#include <tenon/io/safetensors.hpp>
#include <tenon/nn/cell.hpp>
#if TENON_DEFINES
#include <tenon/train/optimizer_state.hpp>
#endif

namespace tenon::inline TENON_ABI {

namespace io {
struct NamedValue;  // io/named_value.hpp
}

namespace detail {
/// How MindSpore's files are written and read, in programs that include <tenon/train/ckpt.hpp>.
struct CkptFormat {
  void (*save)(const std::string& path, std::span<const io::NamedTensor> tensors,
               const std::vector<io::NamedValue>* values);
  void (*read)(const std::string& path, FunctionRef<const io::HeldTensors&> use);
};
inline constinit const CkptFormat* ckpt_format = nullptr;

/// Whether a path's suffix says ".ckpt", not ".safetensors". Throws ValueError for others, and without that header.
[[gnu::cold]] bool is_ckpt_path(std::string_view act, const std::string& path);
/// Hands the tensors of a file of either format to use().
[[gnu::cold]] void read_checkpoint(const std::string& path, FunctionRef<const io::HeldTensors&> use);
/// io::load_tensors of a file; an optimizer's state is not unexpected.
[[gnu::cold]] io::LoadReport load_parameters(const std::string& path, std::span<const io::NamedTensor> into,
                                             bool strict);
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

/// Writes tensors under their names, such as those of another framework's model: `{{"fc1.weight", w.view()}, ...}`. The
/// format is as below. Throws ValueError for names that are there twice or that the format cannot hold, and as below.
[[gnu::cold]] void save_checkpoint(std::span<const io::NamedTensor> tensors, const std::string& path);

/// Writes all parameters of a network to a safetensors file, which appears complete or not at all. With
/// `#include <tenon/train/ckpt.hpp>` a path that ends with ".ckpt" gets a checkpoint of MindSpore.
/// Throws ValueError for another suffix, RuntimeError if the file cannot be written.
template <AnyCell Net>
[[gnu::noinline]] void save_checkpoint(const Net& net, const std::string& path) {
  save_checkpoint(detail::named_parameters_of(ParameterList(net)), path);
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
/// path     a safetensors file; with `#include <tenon/train/ckpt.hpp>` also MindSpore's .ckpt
/// strict   refuse names that are only in the file or only in the network, other dtypes, and other shapes. What a
///          training saves beside the parameters (save_training, MindSpore's optimizers) may be in the file
/// result   the names left out: missing in the file, unexpected in the file, mismatched in shape or dtype
/// throws   KeyError with the nearest names, TypeError for another dtype, ValueError for another shape (all strict);
///          ValueError for another suffix, RuntimeError for a file that is missing or damaged
template <AnyCell Net>
[[gnu::noinline]] io::LoadReport load_checkpoint(const std::string& path, const Net& net, bool strict = true) {
  static_cast<void>(detail::is_ckpt_path("load", path));
  const ParameterList list(net);
  const std::vector<io::NamedTensor> parameters = detail::named_parameters_of(list);
  if (ParameterArena* const arena = list.arena()) arena->change();  // before it: a damaged file may end it half-way
  return detail::load_parameters(path, parameters, strict);
}

/// Says in which order the arguments stand.
template <AnyCell Net>
void load_checkpoint(const Net&, const std::string&) {
  using Wrong = Mistake<detail::ArgumentsSwapped<"load_checkpoint(\"net.safetensors\", net)", Net>>;
  static_cast<void>(Wrong::corrected);
}

/// Reads a checkpoint without a network: `load_checkpoint(path).find("conv1.weight")` is an AnyTensor or null,
/// `.tensors()` has all of them. The views are valid as long as the result. Throws as above.
/// Of a .ckpt, io::Ckpt(path) is this.
io::Safetensors load_checkpoint(const std::string& path);

#if TENON_DEFINES
namespace detail {
TENON_INLINE bool is_ckpt_path(std::string_view act, const std::string& path) {
  const auto ends_with = [&](std::string_view suffix) {
    return path.size() > suffix.size() && std::string_view(path).substr(path.size() - suffix.size()) == suffix;
  };
  if (ends_with(".safetensors")) return false;
  if (!ends_with(".ckpt"))
    throw_error<ValueError>("Cannot ", act, " '", path,
                            "': the name of a checkpoint ends with '.safetensors', or with '.ckpt' for MindSpore.");
  if (!ckpt_format)
    throw_error<ValueError>("Cannot ", act, " '", path,
                            "': for MindSpore's checkpoints the program needs #include <tenon/train/ckpt.hpp>; without "
                            "it the name ends with '.safetensors'.");
  return true;
}
TENON_INLINE void read_checkpoint(const std::string& path, FunctionRef<const io::HeldTensors&> use) {
  if (is_ckpt_path("load", path)) return ckpt_format->read(path, use);
  const io::Safetensors file(path);
  use({path, file.tensors(), file.foreign()});
}
TENON_INLINE io::LoadReport load_parameters(const std::string& path, std::span<const io::NamedTensor> into,
                                            bool strict) {
  io::LoadReport report;
  read_checkpoint(path, [&](const io::HeldTensors& file) {
    const io::SortedNames names(file.tensors), asked(into);
    std::vector<io::NamedTensor> parameters;
    for (const io::NamedTensor& tensor : file.tensors)
      if (asked.find(tensor.name) != io::SortedNames::none || !is_optimizer_state(tensor, names))
        parameters.push_back(tensor);
    report = io::load_tensors({path, {parameters.data(), parameters.size()}, file.foreign}, into, strict);
  });
  return report;
}
[[gnu::cold]] TENON_INLINE std::vector<io::NamedTensor> named_parameters_of(const ParameterList& list) {
  list.bind();
  std::vector<io::NamedTensor> result(static_cast<std::size_t>(list.entries()));  // no push_back: 1 KB of code less
  std::size_t count = 0;
  for (int e = 0; e < list.entries(); ++e) {
    if (!list.table()[e].parameter || list.table()[e].setting) continue;
    io::NamedTensor& named = result[count++];
    named.name = parameter_name(list.table(), e);
    named.tensor = AnyTensor(list.table()[e].dims, 1, list.handle(e).values_at());
  }
  while (result.size() > count) result.pop_back();
  return result;
}
}  // namespace detail

TENON_INLINE void save_checkpoint(std::span<const io::NamedTensor> tensors, const std::string& path) {
  if (detail::is_ckpt_path("save", path)) detail::ckpt_format->save(path, tensors, nullptr);
  else io::save_safetensors(path, tensors);
}
[[gnu::noinline]] TENON_INLINE io::Safetensors load_checkpoint(const std::string& path) {
  if (detail::is_ckpt_path("load", path))
    throw_error<ValueError>("Cannot load '", path,
                            "' without a network: io::Ckpt(path) reads a checkpoint of MindSpore.");
  return io::Safetensors(path);
}
#endif  // TENON_DEFINES

}  // namespace tenon
