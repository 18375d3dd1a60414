// load_param_into_net: loads the parameters of a file into a network with MindSpore's rules, which are less strict than
// load_checkpoint's. Also the number of parameters in a checkpoint, without the optimizer's.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/text/escaped_text.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/file/match_parameters.hpp>
#include <tenon/train/file/optimizer_state.hpp>

namespace tenon::inline TENON_ABI {

/// Options of load_param_into_net: which tensors it loads, and which differences it accepts.
struct LoadParamConfig {
  bool strict = false;
  std::string prefix{};               // only tensors whose names begin so: MindSpore's specify_prefix
  std::vector<std::string> filter{};  // none whose names begin with one of these: MindSpore's filter_prefix
};

namespace detail {
io::LoadReport load_param(const ParameterList& list, std::span<const io::NamedTensor> held,
                          const LoadParamConfig& config);
}

/// Copies tensors into the parameters of the same names. Nothing changes unless all that is found fits:
///
///     load_param_into_net(net, io::Ckpt("resnet50.ckpt").tensors(), {.filter = {"end_point."}});
///
/// Shapes may differ in ones at their end, as [64] and [64, 1, 1] do. Without strict a dtype may be another one of the
/// floating-point types, or of the signed integers; and if parameters are left, it looks for a prefix, such as
/// "backbone.", with which most of them are there, takes those, and looks for another one. What is missing after that
/// is a warning that names it, and so is a filter that no name begins with.
///
/// Names may be PyTorch's, as for load_checkpoint.
///
/// parameters  io::Ckpt(path).tensors(), load_checkpoint("x.safetensors").tensors(), or custom views; an optimizer's
///             state may be among them
/// result      the names left out: missing parameters, and unexpected tensors without an optimizer's state
/// throws      TypeError for another dtype, ValueError for another shape, an integer that the parameter's dtype does
///             not have, an empty filter, and if no tensor is left; KeyError with the nearest names for unmatched ones
///             (strict)
/// source      MindSpore 2.10. There the first prefix wins, also in the middle of a name, and "moment1." is one
template <AnyCell Net>
io::LoadReport load_param_into_net(const Net& net, std::span<const io::NamedTensor> parameters,
                                   const LoadParamConfig& config = {}) {
  const ParameterList list(net);
  list.bind();
  if (ParameterArena* const arena = list.arena()) arena->change();
  return detail::load_param(list, parameters, config);
}

/// How many numbers the parameters of a checkpoint have, an optimizer's state left out.
inline std::int64_t parameter_count(std::span<const io::NamedTensor> tensors) {
  const io::SortedNames names(tensors);
  std::int64_t count = 0;
  for (const io::NamedTensor& named : tensors)
    if (!detail::is_optimizer_state(named, names)) count += named.tensor.count();
  return count;
}
/// The same for a file, as load_checkpoint reads it.
inline std::int64_t parameter_count(const std::string& path) {
  std::int64_t count = 0;
  detail::read_checkpoint(path, [&](const io::HeldTensors& file) { count = parameter_count(file.tensors); });
  return count;
}

namespace detail {

inline std::span<const std::int64_t> without_last_ones(const AnyTensor& tensor) {
  std::span<const std::int64_t> shape = tensor.shape();
  while (!shape.empty() && shape.back() == 1) shape = shape.first(shape.size() - 1);
  return shape;
}
inline bool is_convertible_dtype(Dtype from, Dtype to) {
  return (is_floating(from) && is_floating(to)) || (is_signed_integer(from) && is_signed_integer(to));
}

inline void check_param(const ParameterMatch& match, bool strict) {
  const AnyTensor &from = match.from->tensor, &to = match.to->tensor;
  const std::string what =
      text("load_param_into_net: ", io::printable(match.from->name), " for parameter ", io::printable(match.to->name));
  const std::span<const std::int64_t> a = without_last_ones(from), b = without_last_ones(to);
  if (!match.transposed && !std::equal(a.begin(), a.end(), b.begin(), b.end()))
    throw_error<ValueError>(what, " has the shape ", shape_text(from.shape()), ", the network needs ",
                            shape_text(to.shape()), ".");
  if (from.dtype == to.dtype) return;
  if (!is_convertible_dtype(from.dtype, to.dtype))
    throw_error<TypeError>(what, " is ", name(from.dtype), ", the network needs ", name(to.dtype), ".");
  if (strict)
    throw_error<TypeError>(what, " is ", name(from.dtype), ", the network needs ", name(to.dtype),
                           ". Pass strict = false to convert it.");
}

/// Calls f(T()) for the C++ type of a floating-point dtype or signed integer.
template <class F>
void with_convertible_type(Dtype dtype, F f) {
  switch (dtype) {
    case Dtype::float16: return f(float16());
    case Dtype::bfloat16: return f(bfloat16());
    case Dtype::float32: return f(float());
    case Dtype::float64: return f(double());
    case Dtype::int8: return f(std::int8_t());
    case Dtype::int16: return f(std::int16_t());
    case Dtype::int32: return f(std::int32_t());
    default: return f(std::int64_t());
  }
}

/// Copies the elements; `only_check`: throws for an integer that the parameter cannot hold, and copies nothing.
inline void convert_param(const ParameterMatch& match, bool only_check) {
  std::string bytes;
  const AnyTensor from =
      match.transposed && !only_check ? transposed_matrix(match.from->tensor, bytes) : match.from->tensor;
  const AnyTensor& to = match.to->tensor;
  if (from.dtype == to.dtype) {
    if (!only_check && from.bytes() != 0) std::memcpy(to.data, from.data, from.bytes());
    return;
  }
  with_convertible_type(from.dtype, [&]<class From>(From) {
    with_convertible_type(to.dtype, [&]<class To>(To) {
      using Wide = std::conditional_t<std::is_integral_v<From>, std::int64_t, double>;
      if constexpr (std::is_integral_v<From> == std::is_integral_v<To>) {
        const std::span<From> source = from.as<From>();
        for (std::size_t i = 0; i < source.size(); ++i) {
          const Wide value = static_cast<Wide>(source[i]);
          if constexpr (std::is_integral_v<To>)
            if (!std::in_range<To>(value))
              throw_error<ValueError>("load_param_into_net: element ", i, " of ", io::printable(match.from->name),
                                      " is ", value, ", which ", name(to.dtype), " does not have.");
          if (!only_check) static_cast<To*>(to.data)[i] = static_cast<To>(static_cast<Compute<To>>(value));
        }
      }
    });
  });
}

/// Warns of a filter that leaves nothing out, such as a misspelt one: what it should keep is written over.
inline void check_filter(const std::string& filter, std::span<const io::NamedTensor> held) {
  if (filter.empty())
    throw_error<ValueError>("load_param_into_net: a filter is empty, and every name begins so; leave it out.");
  constexpr std::size_t most = 3;
  std::string first;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i].name.starts_with(filter)) return;
    if (i < most) first += text(i ? ", " : "", io::printable(held[i].name));
  }
  logging::warning("load_param_into_net: the filter ", io::printable(filter), " leaves out nothing, as none of the ",
                   held.size(), " names begins so; the first ones: ", first, ".");
}
/// The tensors that the configuration leaves.
inline std::vector<io::NamedTensor> chosen_tensors(std::span<const io::NamedTensor> held,
                                                   const LoadParamConfig& config) {
  for (const std::string& filter : config.filter) check_filter(filter, held);
  std::vector<io::NamedTensor> chosen;
  for (const io::NamedTensor& tensor : held) {
    bool kept = tensor.name.starts_with(config.prefix);
    for (const std::string& filter : config.filter) kept = kept && !tensor.name.starts_with(filter);
    if (kept) chosen.push_back(tensor);
  }
  if (chosen.empty())
    throw_error<ValueError>("load_param_into_net: of ", held.size(),
                            " tensors none is left; look at prefix and filter.");
  return chosen;
}

inline io::LoadReport load_param(const ParameterList& list, std::span<const io::NamedTensor> held,
                                 const LoadParamConfig& config) {
  constexpr std::string_view caller = "load_param_into_net";
  io::check_tensors("load", std::string(caller), held);
  const std::vector<io::NamedTensor> chosen = chosen_tensors(held, config), parameters = named_parameters_of(list),
                                     pytorch = named_parameters_of(list, pytorch_parameter_name);
  MatchedParameters found =
      match_parameters({parameters, pytorch, chosen, config.strict ? PrefixRule::none : PrefixRule::each});
  io::LoadReport& report = found.report;
  if (config.strict && !(report.missing.empty() && report.unexpected.empty()))
    throw_error<KeyError>(caller, ": the names are not those of the network.", io::detail::unmatched_text(report),
                          " Pass strict = false to load what matches.");
  const std::span<const ParameterMatch> matches(found.match.get(), found.count);
  for (const ParameterMatch& match : matches) check_param(match, config.strict), convert_param(match, true);
  for (const ParameterMatch& match : matches) convert_param(match, false);
  report_load(chosen.size() == held.size()
                  ? "the tensors given"
                  : text("the ", chosen.size(), " of ", held.size(), " tensors that prefix and filter leave"),
              report);
  return std::move(report);
}

}  // namespace detail
}  // namespace tenon
