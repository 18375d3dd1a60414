// Parameters: the trained (or otherwise changing) tensors of a cell.
#pragma once
#include <span>

#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/core/value.hpp>
#include <tenon/graph/ir/structure.hpp>
#if TENON_DEFINES
#include <tenon/core/tensor/list.hpp>
#endif

namespace tenon::inline TENON_ABI {

namespace detail {
[[noreturn, gnu::cold]] void refuse_unbound(const TensorType& dims);
/// Whether an initializer is that of a number that only the user changes, such as a dropout rate: nn::Setting.
template <class Init>
inline constexpr bool is_setting = false;
/// Whether it is that of a setting which requires_grad() and set_train() of a cell change: nn::Freezing.
template <class Init>
inline constexpr bool is_freezing = false;
/// Whether it is that of a state which no checkpoint and no list has: nn::KeyValueCache.
template <class Init>
inline constexpr bool is_scratch = false;
/// Whether it is that of a table whose gradient is one of rows: nn::EmbeddingLookup.
template <class Init>
inline constexpr bool is_of_rows = false;
/// Whether it is that of a parameter of which each rank of a group has a slice: nn::SliceOf.
template <class Init>
inline constexpr bool is_sliced = false;
}  // namespace detail

/// A tensor that belongs to a cell. It is a move-only handle: the bytes live in the network's arena.
///
/// T, S       element type and Shape (static)
/// Init       an initializer value: Normal{0.01f}, Zero{}, ... with `void fill(T*, const TensorType&, std::uint64_t
///            key) const`
/// Trainable  false for state that training changes by other means, such as running statistics
///
/// nn::Setting (nn/setting.hpp) is one that only the user changes. It lives in the arena, where a captured graph finds
/// it, but checkpoints and parameter lists leave it out. Before it is bound the handle itself has its value.
template <Element T, class S, auto Init, bool Trainable = true>
struct Parameter : ParameterHandle, ops::Value<Parameter<T, S, Init, Trainable>> {
  using type = T;
  using shape = S;
  static constexpr TensorType dims = type_of<T, S>;
  static constexpr bool trainable = Trainable;
  static constexpr bool setting = detail::is_setting<std::remove_cvref_t<decltype(Init)>>;
  static constexpr bool listed = !setting && !detail::is_scratch<std::remove_cvref_t<decltype(Init)>>;
  static constexpr bool freezes = detail::is_freezing<std::remove_cvref_t<decltype(Init)>>;
  static constexpr bool of_rows = detail::is_of_rows<std::remove_cvref_t<decltype(Init)>>;
  static constexpr bool sliced = detail::is_sliced<std::remove_cvref_t<decltype(Init)>>;
  static constexpr SliceEntry slice(int entry) requires(sliced)
  {
    return Init.slice(entry);
  }
  static void initializer(void* data, const TensorType& t, std::uint64_t key, const ParameterHandle& own) {
    if constexpr (setting) *static_cast<T*>(data) = static_cast<const Parameter&>(own).value();
    else Init.fill(static_cast<T*>(data), t, key);
  }

  constexpr Parameter() = default;
  /// A setting with another first value, for `Net net{.factor = 3};`.
  constexpr Parameter(T first) requires(setting)
      : unbound_{first} {}

  /// Changes a setting, from the next step or call on.
  void set(T to) const requires(setting)
  {
    (data ? *reinterpret_cast<T*>(values_at(sizeof(T))) : unbound_.value) = to;
    change();
  }
  T value() const requires(setting)
  {
    return data ? *reinterpret_cast<const T*>(values_at(sizeof(T), tenon::detail::Look::read)) : unbound_.value;
  }

  /// The elements, row-major. Throws RuntimeError before the network is bound (by init_parameters(), a Model, or its
  /// first call).
  std::span<T> values() const {
    if (!data) detail::refuse_unbound(dims);
    return {reinterpret_cast<T*>(hand_out(dims.bytes(1))), static_cast<std::size_t>(dims.count(1))};
  }
  AnyTensor view() const { return AnyTensor(dims, 1, hand_out(dims.bytes(1))); }
  /// The only element of a parameter with one: `scale.item()`. Throws as values().
  T item() const requires(dims.count(1) == 1)
  {
    if constexpr (setting) return value();
    if (!data) detail::refuse_unbound(dims);
    return *reinterpret_cast<const T*>(values_at(sizeof(T), tenon::detail::Look::read));
  }

 private:
  struct Nothing {};
  struct Unbound {
    T value{};
  };
  static constexpr auto first() {
    if constexpr (setting) return Unbound{Init.value};
    else return Nothing{};
  }
  [[no_unique_address]] mutable decltype(first()) unbound_ = first();
};

/// A parameter under another shape of as many elements, as an operand: a bias [C] beside images is [C, 1, 1].
template <class P, class S>
struct ParameterView : ops::Value<ParameterView<P, S>> {
  using type = typename P::type;
  using shape = S;
  static constexpr TensorType dims = type_of<type, S>;
  const P& parameter;
  constexpr explicit ParameterView(const P& p) : parameter(p) {}
};

#if TENON_DEFINES
namespace detail {
[[gnu::noinline]] TENON_INLINE void refuse_unbound(const TensorType& dims) {
  throw_error<RuntimeError>("The values of a parameter ", type_text(dims),
                            " were asked for before it had any: call "
                            "init_parameters() on its network, make a Model of it, or call it once.");
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
