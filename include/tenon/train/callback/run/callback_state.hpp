// The state of callbacks, for training files.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI {

/// Saves the state of a callback, or loads it: the same function does both. A callback whose state must survive a
/// resumed training has
///
///     void state(CallbackState& state) { state(best), state(wait), state(values); }
///
/// with numbers, texts, and vectors of them. It is called when the training is saved, and by the run that continues
/// with it, after on_train_begin.
class CallbackState {
 public:
  /// To save.
  CallbackState() = default;
  /// To load what bytes() were. Throws ValueError where they end too early.
  explicit CallbackState(std::string bytes) : bytes_(std::move(bytes)), loads_(true) {}

  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) number(&value, sizeof value);
    else {
      std::uint64_t count = value.size();
      (*this)(count);
      if (loads_) {
        check(count, smallest<typename T::value_type>);
        value.resize(std::size_t(count));
      }
      for (auto& one : value) (*this)(one);
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  // The bytes that an element takes at least: itself, or the number of its own elements.
  template <class T>
  static constexpr std::uint64_t smallest = std::is_arithmetic_v<T> || std::is_enum_v<T> ? sizeof(T) : 8;

  [[gnu::noinline]] void number(void* value, std::size_t size) {
    if (!loads_) return static_cast<void>(bytes_.append(static_cast<const char*>(value), size));
    check(1, size);
    std::memcpy(value, bytes_.data() + at_, size);
    at_ += size;
  }
  void check(std::uint64_t count, std::uint64_t each) const {
    if (count > (bytes_.size() - at_) / each)
      throw_error<ValueError>("What a callback had counted, ", bytes_.size(),
                              " bytes of a training file, ends early: it "
                              "is damaged, or of another version of the callback.");
  }

  std::string bytes_;
  std::size_t at_ = 0;
  bool loads_ = false;
};

namespace detail {
template <class C>
concept KeepsState = requires(C& callback, CallbackState& state) { callback.state(state); };
/// States of callbacks under the names that they have in files.
using CallbackStates = std::vector<std::pair<std::string, std::string>>;
inline constexpr std::string_view callback_state_prefix = "tenon.callback.";
}  // namespace detail

}  // namespace tenon
