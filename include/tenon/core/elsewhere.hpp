// Functions that tenon.hpp leaves to other headers, because most programs do not call them and all would pay for them.
// A call without the header stops the compilation with a sentence that names it.
#pragma once
#include <string_view>

#include <tenon/core/text/report.hpp>
#include <tenon/core/text/type_name.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// The headers. Texts in the place of numbers, here and below, would cost every program more than the functions do.
enum class Header { more, checkpoint, training_summary, summary, safetensors };
/// Whether a header is included, as it says itself. It takes the types of a call's arguments, so that a header may also
/// stand after tenon.hpp.
template <Header header, class... Arguments>
inline constexpr bool is_included = false;

template <auto>
struct NameOf;
template <auto function, Header header, class... Arguments>
struct NotIncluded {
  static constexpr std::string_view type = type_name<NameOf<function>>();  // "...::save_checkpoint>"
  static constexpr std::string_view name = type.substr(type.rfind(':') + 1, type.size() - type.rfind(':') - 2);
  static constexpr std::string_view path = header == Header::more               ? "more"
                                           : header == Header::checkpoint       ? "train/checkpoint"
                                           : header == Header::training_summary ? "train/summary"
                                           : header == Header::summary          ? "nn/summary"
                                                                                : "io/safetensors";
  static constexpr Sentence sentence = Sentence{} << name << " is in <tenon/" << path << ".hpp>: include it";
};

// clang-format off: one function a line otherwise
enum class elsewhere {
  save_checkpoint, load_checkpoint, named_parameters, training_summary, summary, save_safetensors, load_safetensors
};
// clang-format on
constexpr Header header_of(elsewhere function) {
  return function <= elsewhere::named_parameters   ? Header::checkpoint
         : function == elsewhere::training_summary ? Header::training_summary
         : function == elsewhere::summary          ? Header::summary
                                                   : Header::safetensors;
}
template <elsewhere function, class... Arguments>
inline constexpr bool is_missing = !is_included<header_of(function), Arguments...>;
template <elsewhere function, class... Arguments>
using Missing = Mistake<NotIncluded<function, header_of(function), Arguments...>>;
}  // namespace detail

template <class... A>
requires detail::is_missing<detail::elsewhere::save_checkpoint, A...>
auto save_checkpoint(const A&...) {
  using Wrong = detail::Missing<detail::elsewhere::save_checkpoint, A...>;
  return Wrong::corrected;
}
template <class... A>
requires detail::is_missing<detail::elsewhere::load_checkpoint, A...>
auto load_checkpoint(const A&...) {
  using Wrong = detail::Missing<detail::elsewhere::load_checkpoint, A...>;
  return Wrong::corrected;
}
template <class... A>
requires detail::is_missing<detail::elsewhere::named_parameters, A...>
auto named_parameters(const A&...) {
  using Wrong = detail::Missing<detail::elsewhere::named_parameters, A...>;
  return Wrong::corrected;
}
template <class... A>
requires detail::is_missing<detail::elsewhere::training_summary, A...>
auto training_summary(const A&...) {
  using Wrong = detail::Missing<detail::elsewhere::training_summary, A...>;
  return Wrong::corrected;
}
namespace nn {
template <class... A>
requires tenon::detail::is_missing<tenon::detail::elsewhere::summary, A...>
auto summary(const A&...) {
  using Wrong = tenon::detail::Missing<tenon::detail::elsewhere::summary, A...>;
  return Wrong::corrected;
}
}  // namespace nn
namespace io {
template <class... A>
requires tenon::detail::is_missing<tenon::detail::elsewhere::save_safetensors, A...>
auto save_safetensors(const A&...) {
  using Wrong = tenon::detail::Missing<tenon::detail::elsewhere::save_safetensors, A...>;
  return Wrong::corrected;
}
template <class... A>
requires tenon::detail::is_missing<tenon::detail::elsewhere::load_safetensors, A...>
auto load_safetensors(const A&...) {
  using Wrong = tenon::detail::Missing<tenon::detail::elsewhere::load_safetensors, A...>;
  return Wrong::corrected;
}
}  // namespace io

}  // namespace tenon
