// Saves the parameters of a network to a file, and loads them again.
#pragma once
#include <tenon/core/elsewhere.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/io/safetensors.hpp>
#include <tenon/nn/cell.hpp>
#if TENON_DEFINES
#include <tenon/core/log/log.hpp>
#include <tenon/train/file/match_parameters.hpp>
#endif

namespace tenon::inline TENON_ABI {

template <class... A>
inline constexpr bool detail::is_included<detail::Header::checkpoint, A...> = true;

namespace io {
struct NamedValue;  // io/tensors/named_value.hpp
}

namespace detail {
/// How MindSpore's files are written and read, in programs that include <tenon/train/ckpt.hpp>.
struct CkptFormat {
  void (*save)(const std::string& path, std::span<const io::NamedTensor> tensors,
               const std::vector<io::NamedValue>* values);
  void (*read)(const std::string& path, FunctionRef<const io::HeldTensors&> use);
};
inline constinit const CkptFormat* ckpt_format = nullptr;
/// How NumPy's files are, in programs that include <tenon/train/npz.hpp>.
inline constinit const CkptFormat* npz_format = nullptr;
/// How PyTorch's files are read, in programs that include <tenon/train/pt.hpp>.
using ReadTensors = void (*)(const std::string& path, FunctionRef<const io::HeldTensors&> use);
inline constinit ReadTensors pt_format = nullptr;

/// Whether a path's suffix says ".ckpt", not ".safetensors". Throws ValueError for others, and without that header.
[[gnu::cold]] bool is_ckpt_path(std::string_view act, const std::string& path);
/// Throws ValueError, with what to do, for the name of a file of torch.save.
[[gnu::cold]] void refuse_torch_save(const std::string& path);
/// Hands the tensors of a file of any format to use().
[[gnu::cold]] void read_checkpoint(const std::string& path, FunctionRef<const io::HeldTensors&> use);
/// Copies the tensors of a file into the parameters that match_parameters finds for them.
[[gnu::cold]] io::LoadReport load_parameters(const std::string& path, const ParameterList& list, bool strict);
/// Tells what a load did (INFO), and which parameters keep their values (WARNING).
[[gnu::cold]] void report_load(const std::string& from, const io::LoadReport& report);
std::vector<io::NamedTensor> named_parameters_of(const ParameterList& list,
                                                 std::string (*name_of)(const Entry*, int) = parameter_name,
                                                 Look look = Look::change);
inline std::vector<io::NamedTensor> named_parameters_to_read(const ParameterList& list) {
  return named_parameters_of(list, parameter_name, Look::read);
}
template <FixedString call, class Net>
struct ArgumentsSwapped {
  static constexpr Sentence sentence = Sentence{} << "the arguments are in the wrong order: " << call.view();
};
}  // namespace detail

/// Views of all parameters of a network, trainable or not, in the order of their declaration, with the names that
/// checkpoints use: "conv1.weight". They are valid as long as the network. Binds the parameters if they are not bound.
/// PyTorch's load_state_dict takes a file with its own names:
///
///     save_checkpoint(named_parameters(net, NameFamily::pytorch), "net.safetensors");
template <AnyCell Net>
std::vector<io::NamedTensor> named_parameters(const Net& net, NameFamily family = NameFamily::mindspore) {
  const ParameterList list(net);
  std::vector<io::NamedTensor> result =
      detail::named_parameters_of(list, family == NameFamily::pytorch ? pytorch_parameter_name : parameter_name);
  if (ParameterArena* const arena = list.arena()) arena->hand_out();
  return result;
}

/// Writes tensors under their names, such as those of another framework's model: `{{"fc1.weight", w.view()}, ...}`. The
/// format is as below. Throws ValueError for repeated names and for names that the format cannot hold, and the errors
/// below.
[[gnu::cold]] void save_checkpoint(std::span<const io::NamedTensor> tensors, const std::string& path);

/// Writes all parameters of a network to a safetensors file, which is complete or absent. With
/// `#include <tenon/train/ckpt.hpp>` a path that ends with ".ckpt" gets a checkpoint of MindSpore, with
/// `#include <tenon/train/npz.hpp>` one that ends with ".npz" a file of NumPy. Throws ValueError for another suffix,
/// RuntimeError if the file cannot be written.
template <AnyCell Net>
[[gnu::noinline]] void save_checkpoint(const Net& net, const std::string& path) {
  save_checkpoint(detail::named_parameters_to_read(ParameterList(net)), path);
}

/// The error for arguments in the wrong order.
template <AnyCell Net>
void save_checkpoint(const std::string&, const Net&) {
  using Wrong = Mistake<detail::ArgumentsSwapped<"save_checkpoint(net, \"net.safetensors\")", Net>>;
  static_cast<void>(Wrong::corrected);
}

/// Reads a checkpoint's parameters into a network of the same structure. Names are Tenon's and MindSpore's or PyTorch's
/// (docs/checkpoints.md), with or without a prefix that all of them have. With strict nothing changes unless everything
/// fits; `load_checkpoint(path, net, false)` loads what fits, warns about parameters that keep their values, and
/// returns what it omitted:
///
///     const auto left = load_checkpoint("pretrained.safetensors", net, false);
///     for (const std::string& name : left.mismatched) std::printf("%s has another shape\n", name.c_str());
///
/// path     a safetensors file; with `#include <tenon/train/ckpt.hpp>` also MindSpore's .ckpt, with `#include
///          <tenon/train/npz.hpp>` NumPy's .npz
/// strict   refuse names that are only in the file or only in the network, other dtypes, and other shapes. What a
///          training saves beside the parameters (save_training, MindSpore's optimizers, PyTorch's modules) may be in
///          the file. 16-bit floats become float32
/// result   the names left out: missing in the file, unexpected in the file, mismatched in shape or dtype; and notes:
///          whose names were found, which prefix was left out, what was tied, transposed, or converted
/// throws   KeyError with the nearest names, TypeError for another dtype, ValueError for another shape (all strict);
///          ValueError for another suffix, RuntimeError for a file that is missing or damaged
template <AnyCell Net>
[[gnu::noinline]] io::LoadReport load_checkpoint(const std::string& path, const Net& net, bool strict = true) {
  const ParameterList list(net);
  list.bind();
  if (ParameterArena* const arena = list.arena()) arena->change();  // before it: a damaged file may end it half-way
  return detail::load_parameters(path, list, strict);
}

/// The error for arguments in the wrong order.
template <AnyCell Net>
void load_checkpoint(const Net&, const std::string&) {
  using Wrong = Mistake<detail::ArgumentsSwapped<"load_checkpoint(\"net.safetensors\", net)", Net>>;
  static_cast<void>(Wrong::corrected);
}

/// Reads a checkpoint without a network: `load_checkpoint(path).find("conv1.weight")` is an AnyTensor or null,
/// `.tensors()` has all of them. The views are valid as long as the result. Throws as above. For a .ckpt use
/// io::Ckpt(path).
io::Safetensors load_checkpoint(const std::string& path);

#if TENON_DEFINES
namespace detail {
inline bool has_suffix(const std::string& path, std::string_view suffix) {
  return path.size() > suffix.size() && path.ends_with(suffix);
}
TENON_INLINE bool is_ckpt_path(std::string_view act, const std::string& path) {
  if (has_suffix(path, ".safetensors")) return false;
  if (!ckpt_format || !has_suffix(path, ".ckpt"))
    throw_error<ValueError>(
        "Cannot ", act, " '", path,
        "': the name of a checkpoint ends with '.safetensors'; with #include <tenon/train/ckpt.hpp> "
        "also with '.ckpt' for MindSpore, with #include <tenon/train/npz.hpp> with '.npz'.");
  return true;
}
inline bool is_torch_path(const std::string& path) {
  return has_suffix(path, ".pt") || has_suffix(path, ".pth") || has_suffix(path, ".bin");
}
TENON_INLINE void refuse_torch_save(const std::string& path) {
  if (is_torch_path(path)) throw_error<ValueError>("Cannot load '", path, "': ", io::torch_save_advice, ".");
}
TENON_INLINE void read_checkpoint(const std::string& path, FunctionRef<const io::HeldTensors&> use) {
  if (pt_format && is_torch_path(path)) return pt_format(path, use);
  refuse_torch_save(path);
  if (npz_format && has_suffix(path, ".npz")) return npz_format->read(path, use);
  if (is_ckpt_path("load", path)) return ckpt_format->read(path, use);
  const io::Safetensors file(path);
  use({path, file.tensors(), file.foreign(), file.metadata()});
}
inline bool is_widened(const ParameterMatch& match) {
  return is_half_dtype(match.from->tensor.dtype) && match.to->tensor.dtype == Dtype::float32;
}
inline bool has_dtype(const ParameterMatch& match) {
  return match.from->tensor.dtype == match.to->tensor.dtype || is_widened(match);
}
inline bool has_shape(const ParameterMatch& match) {
  return match.transposed || io::detail::same_shape(match.from->tensor, match.to->tensor);
}
/// Throws TypeError or ValueError for the first tensor of a file that does not fit.
[[gnu::cold, gnu::noinline]] inline void check_matches(const std::string& path, const MatchedParameters& all) {
  for (const auto fits : {has_dtype, has_shape}) {
    const ParameterMatch* bad = nullptr;
    std::size_t count = 0;
    for (std::size_t i = 0; i < all.count; ++i)
      if (!fits(all.match[i]) && count++ == 0) bad = &all.match[i];
    if (!bad) continue;
    const AnyTensor &from = bad->from->tensor, &to = bad->to->tensor;
    const std::string more = count > 1 ? text(" So it is with ", count - 1, " more.") : std::string();
    if (fits == has_dtype)
      throw_error<TypeError>("Cannot load '", path, "': ", match_text(*bad), " is ", name(from.dtype),
                             " in the file, the parameter needs ", name(to.dtype), ".", more,
                             " load_param_into_net converts it.");
    throw_error<ValueError>(
        "Cannot load '", path, "': ", match_text(*bad), " has the shape ", shape_text(from.shape()),
        " in the file, the parameter needs ", shape_text(to.shape()), ".", more,
        has_transposed_shape(from, to) ? " One is the other transposed: save the transposed tensor." : "",
        " Pass strict = false to load the rest.");
  }
}
template <class Half>
void widen(const AnyTensor& from, const AnyTensor& to) {
  const Half* values = static_cast<const Half*>(from.data);
  float* into = static_cast<float*>(to.data);
  for (std::size_t left = from.bytes() / sizeof(Half); left > 0; --left) *into++ = *values++;
}
[[gnu::cold, gnu::noinline]] inline void copy_match(const ParameterMatch& match) {
  std::string bytes;
  const AnyTensor from = match.transposed ? transposed_matrix(match.from->tensor, bytes) : match.from->tensor;
  if (!is_widened(match)) {
    if (from.bytes() != 0) std::memcpy(match.to->tensor.data, from.data, from.bytes());
  } else if (from.dtype == Dtype::float16) widen<float16>(from, match.to->tensor);
  else widen<bfloat16>(from, match.to->tensor);
}
/// `foreign`: the first of the tensors that were searched whose dtype Tenon lacks, as in file.foreign.
[[gnu::cold, gnu::noinline]] inline io::LoadReport load_matches(const io::HeldTensors& file, MatchedParameters found,
                                                                const io::NamedTensor* foreign, bool strict) {
  io::LoadReport report = std::move(found.report);
  if (strict) {
    if (!(report.missing.empty() && report.unexpected.empty())) io::detail::throw_unmatched(file.path, report);
    for (std::size_t i = 0; i < found.count; ++i)
      if (const std::ptrdiff_t number = found.match[i].from - foreign; number >= 0)
        io::detail::throw_foreign(file.path, file.foreign[std::size_t(number)]);
    check_matches(file.path, found);
  }
  std::size_t widened = 0;
  for (std::size_t i = 0; i < found.count; ++i) {
    const ParameterMatch& match = found.match[i];
    if (match.from >= foreign || !has_dtype(match) || !has_shape(match)) {
      report.mismatched.push_back(std::string(match.to->name));
      continue;
    }
    copy_match(match);
    widened += is_widened(match);
  }
  if (widened > 0)
    report.notes.push_back(text("Tensors that are 16-bit floats in the file, float32 here: ", widened, "."));
  return report;
}
TENON_INLINE io::LoadReport load_parameters(const std::string& path, const ParameterList& list, bool strict) {
  const std::vector<io::NamedTensor> parameters = named_parameters_of(list),
                                     pytorch = named_parameters_of(list, pytorch_parameter_name);
  io::LoadReport report;
  read_checkpoint(path, [&](const io::HeldTensors& file) {
    std::vector<io::NamedTensor> held = with_shared_tensors(file.tensors, file.metadata);
    const std::size_t known = held.size();
    for (const io::ForeignTensor& tensor : file.foreign)
      held.push_back({tensor.name, AnyTensor(Dtype::uint8, tensor.shape, nullptr)});
    report =
        load_matches(file, match_parameters({parameters, pytorch, held, strict ? PrefixRule::best : PrefixRule::each}),
                     held.data() + known, strict);
  });
  report_load(text("'", path, "'"), report);
  return report;
}
TENON_INLINE void report_load(const std::string& from, const io::LoadReport& report) {
  for (const std::string& note : report.notes) logging::info(text(from, ": ", note));
  if (const std::size_t left = report.missing.size() + report.mismatched.size())
    logging::warning(
        text(from, ": ", left, " parameters in the net are not loaded.", io::detail::unmatched_text(report)));
}
[[gnu::cold]] TENON_INLINE std::vector<io::NamedTensor> named_parameters_of(const ParameterList& list,
                                                                            std::string (*name_of)(const Entry*, int),
                                                                            Look look) {
  list.bind();
  std::vector<io::NamedTensor> result(static_cast<std::size_t>(list.entries()));  // no push_back: 1 KB of code less
  std::size_t count = 0;
  for (int e = 0; e < list.entries(); ++e) {
    if (!list.table()[e].parameter || list.table()[e].setting) continue;
    io::NamedTensor& named = result[count++];
    named.name = name_of(list.table(), e);
    const TensorType& type = list.table()[e].dims;
    named.tensor = AnyTensor(type, 1, list.handle(e).values_at(type.bytes(1), look));
  }
  while (result.size() > count) result.pop_back();
  return result;
}
}  // namespace detail

TENON_INLINE void save_checkpoint(std::span<const io::NamedTensor> tensors, const std::string& path) {
  if (detail::npz_format && detail::has_suffix(path, ".npz")) detail::npz_format->save(path, tensors, nullptr);
  else if (detail::is_ckpt_path("save", path)) detail::ckpt_format->save(path, tensors, nullptr);
  else io::save_safetensors(path, tensors);
}
[[gnu::noinline]] TENON_INLINE io::Safetensors load_checkpoint(const std::string& path) {
  detail::refuse_torch_save(path);
  if (detail::is_ckpt_path("load", path))
    throw_error<ValueError>("Cannot load '", path,
                            "' without a network: io::Ckpt(path) reads a checkpoint of MindSpore.");
  return io::Safetensors(path);
}
#endif  // TENON_DEFINES

}  // namespace tenon
