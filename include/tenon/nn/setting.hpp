// Setting: a number of a cell that may change at run time.
#pragma once
#include <tenon/graph/ir/parameter.hpp>

namespace tenon::inline TENON_ABI::nn {

namespace detail {
/// The initial value of a setting, as an initializer.
template <Element T>
struct SettingValue {
  T value{};
};
}  // namespace detail
}  // namespace tenon::nn

namespace tenon::inline TENON_ABI::detail {
template <Element T>
inline constexpr bool is_setting<nn::detail::SettingValue<T>> = true;
}  // namespace tenon::detail

namespace tenon::inline TENON_ABI::nn {

/// A number in a formula of a cell that may change between steps: `nn::Setting<2> factor;` and `x * factor`. Other
/// numbers among the members are part of the compiled graph, and must keep their initial values.
///
/// initial  the initial value, which `Net net{.factor = 3};` replaces
/// T        the dtype, float by default; combined with 16-bit floats a float takes their dtype, as parameters do
/// shape    []: an operand of all operators, combined with at least one tensor
///
/// `net.factor.set(3)` takes effect at the next step or call, in both modes, without a new compilation; it may come
/// before the network is bound. `net.factor.value()` reads it. clone() copies it. Checkpoints, parameter lists, and
/// optimizers leave it out.
template <auto initial, Element T = float>
requires Scalar<decltype(initial)>
using Setting = Parameter<T, Shape<>, detail::SettingValue<T>{static_cast<T>(initial)}, false>;

}  // namespace tenon::nn
