// CallbackTurn: which callbacks of a list are notified of an event before others, independent of their position.
#pragma once
#include <concepts>
#include <type_traits>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// Callbacks are notified of an event in the order of the list, except callbacks that declare another turn, so that
/// every order of the list works: `static constexpr CallbackTurn turn = CallbackTurn::saves;`
enum class CallbackTurn {
  /// In the order of the list; at the end of a run after the turns below, so that the callback sees the final weights.
  in_order,
  /// For a callback that saves the training: after all hooks of a step or an epoch, and before all hooks at the end of
  /// a run.
  saves,
  /// For a callback that gives the network averages of its weights at the end of a run.
  averages,
  /// For a callback that restores earlier weights at the end of a run, also in place of averages.
  restores,
};

namespace detail {
template <class C>
constexpr CallbackTurn turn_of(const C& callback) {
  if constexpr (requires { requires std::same_as<decltype(C::turn), const CallbackTurn>; }) return C::turn;
  else if constexpr (requires { requires std::same_as<decltype(callback.held_turn()), CallbackTurn>; })
    return callback.held_turn();
  else return CallbackTurn::in_order;
}
/// Whether callbacks of a type may have another turn than in_order.
template <class C>
inline constexpr bool may_have_turn = requires {
  requires std::same_as<decltype(C::turn), const CallbackTurn>;
} || requires(const C& c) { requires std::same_as<decltype(c.held_turn()), CallbackTurn>; };
/// The position of a turn among those of an event: turn 0 is notified first.
constexpr int place_of(CallbackTurn turn, bool end) {
  if (!end) return turn == CallbackTurn::saves;
  return turn == CallbackTurn::saves ? 0 : turn == CallbackTurn::averages ? 1 : turn == CallbackTurn::restores ? 2 : 3;
}
}  // namespace detail

}  // namespace tenon
