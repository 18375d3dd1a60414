// Functions that tenon.hpp leaves to other headers, because most programs do not call them and all would pay for them.
// A call without the header stops the compilation with a sentence that names it.
#pragma once
#include <tenon/core/text/fixed_string.hpp>
#include <tenon/core/text/report.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// Whether a header is included, as it says itself. It takes the types of a call's arguments, so that a header may also
/// stand after tenon.hpp.
template <FixedString header, class... Arguments>
inline constexpr bool is_included = false;

template <FixedString function, FixedString header, class... Arguments>
struct NotIncluded {
  static constexpr Sentence sentence = Sentence{} << function.view() << " is in <" << header.view() << ">: include it";
};
}  // namespace detail

template <class... A>
requires(!detail::is_included<"tenon/train/checkpoint.hpp", A...>)
auto save_checkpoint(const A&...) {
  using Wrong = Mistake<detail::NotIncluded<"save_checkpoint", "tenon/train/checkpoint.hpp", A...>>;
  return Wrong::corrected;
}
template <class... A>
requires(!detail::is_included<"tenon/train/checkpoint.hpp", A...>)
auto load_checkpoint(const A&...) {
  using Wrong = Mistake<detail::NotIncluded<"load_checkpoint", "tenon/train/checkpoint.hpp", A...>>;
  return Wrong::corrected;
}
template <class... A>
requires(!detail::is_included<"tenon/train/checkpoint.hpp", A...>)
auto named_parameters(const A&...) {
  using Wrong = Mistake<detail::NotIncluded<"named_parameters", "tenon/train/checkpoint.hpp", A...>>;
  return Wrong::corrected;
}
template <class... A>
requires(!detail::is_included<"tenon/train/summary.hpp", A...>)
auto training_summary(const A&...) {
  using Wrong = Mistake<detail::NotIncluded<"training_summary", "tenon/train/summary.hpp", A...>>;
  return Wrong::corrected;
}
namespace nn {
template <class... A>
requires(!tenon::detail::is_included<"tenon/nn/summary.hpp", A...>)
auto summary(const A&...) {
  using Wrong = Mistake<tenon::detail::NotIncluded<"nn::summary", "tenon/nn/summary.hpp", A...>>;
  return Wrong::corrected;
}
}  // namespace nn
namespace io {
template <class... A>
requires(!tenon::detail::is_included<"tenon/io/safetensors.hpp", A...>)
auto save_safetensors(const A&...) {
  using Wrong = Mistake<tenon::detail::NotIncluded<"io::save_safetensors", "tenon/io/safetensors.hpp", A...>>;
  return Wrong::corrected;
}
template <class... A>
requires(!tenon::detail::is_included<"tenon/io/safetensors.hpp", A...>)
auto load_safetensors(const A&...) {
  using Wrong = Mistake<tenon::detail::NotIncluded<"io::load_safetensors", "tenon/io/safetensors.hpp", A...>>;
  return Wrong::corrected;
}
}  // namespace io

}  // namespace tenon
