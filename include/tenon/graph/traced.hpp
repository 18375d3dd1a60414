// The values that construct sees in constant evaluation.
#pragma once
#include <tenon/graph/builder.hpp>
#include <tenon/graph/parameter.hpp>

namespace tenon::inline TENON_ABI {

/// Dtype and shape as a type, the key of everything that is worked out once per shape.
template <Dtype D, int... Extents>
struct TypeKey {
  static constexpr TensorType value{{Extents...}, sizeof...(Extents), D};
  using type = CppType<D>;
  using shape = Shape<Extents...>;
};

/// A value of the graph being traced: its type is known to the compiler, its content is a node.
template <Element T, class S>
struct Traced : ops::Value<Traced<T, S>> {
  using type = T;
  using shape_type = S;
  static constexpr TensorType dims = type_of<T, S>;
  Builder* builder;
  int id;
  constexpr Traced(Builder* b, int node) : builder(b), id(node) {}

  /// There are no values in a graph: the trace fails with a sentence that says what to do.
  constexpr T item() const { return static_cast<T>(builder->fail_for_value("item()")); }
  constexpr explicit operator bool() const { return builder->fail_for_value("`if`") != 0; }
};

/// What a failed shape rule returns. It passes silently through all operators and cells: the first error is reported
/// once, by whoever started the trace.
struct Broken : ops::Value<Broken> {
  Builder* builder = nullptr;
  constexpr Broken() = default;
  constexpr explicit Broken(Builder* b) : builder(b) {}
  constexpr float item() const { return 0; }
  constexpr explicit operator bool() const { return false; }
};

template <class V>
inline constexpr bool is_broken = std::is_same_v<std::remove_cvref_t<V>, Broken>;

}  // namespace tenon
