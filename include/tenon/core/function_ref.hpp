// A reference to a function object, so that code that calls it exists once and not once per object.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// Calls `void f(A...)` that lives elsewhere, at least as long as this; empty if made of nothing.
template <class... A>
class FunctionRef {
 public:
  FunctionRef() = default;
  template <class F>
  FunctionRef(const F& f)
      : object_(&f), call_([](const void* object, A... a) { (*static_cast<const F*>(object))(a...); }) {}

  explicit operator bool() const { return call_ != nullptr; }
  void operator()(A... a) const { call_(object_, a...); }

 private:
  const void* object_ = nullptr;
  void (*call_)(const void*, A...) = nullptr;
};

}  // namespace tenon
