// The values that construct sees in constant evaluation.
#pragma once
#include <tenon/graph/ir/builder.hpp>
#include <tenon/graph/ir/parameter.hpp>

namespace tenon::inline TENON_ABI {

/// Dtype and shape as a type, the key of everything that is worked out once per shape.
template <Dtype D, int... Extents>
struct TypeKey {
  static constexpr TensorType value{{Extents...}, sizeof...(Extents), D};
  using type = CppType<D>;
  using shape = Shape<Extents...>;
};

struct Broken;

/// A value of the graph being traced: its type is known to the compiler, its content is a node.
template <Element T, class S>
struct Traced : ops::Value<Traced<T, S>> {
  using type = T;
  using shape_type = S;
  static constexpr TensorType dims = type_of<T, S>;
  Builder* builder;
  int id;
  constexpr Traced(Builder* b, int node) : builder(b), id(node) {}
  constexpr Traced(const Traced&) = default;
  constexpr Traced& operator=(const Traced&) = default;
  /// A variable keeps its dtype and shape: the trace fails with a sentence that names both.
  template <class Other>
  requires(std::is_base_of_v<ops::OperandTag, Other>)
  constexpr Traced& operator=([[maybe_unused]] const Other& other) {
    if constexpr (requires { Other::dims; }) builder->fail(detail::other_type_assigned(dims, Other::dims));
    return *this;
  }

  /// There are no values in a graph: the trace fails with a sentence that says what to do.
  constexpr T item() const { return static_cast<T>(builder->fail_for_value("item()")); }
  constexpr explicit operator bool() const { return builder->fail_for_value("`if`") != 0; }
  /// The extent of an axis, if it is static; else the trace fails, and the network runs operator by operator only.
  constexpr long extent(int axis) const {
    if (dims[axis] >= 0) return dims[axis];
    builder->asks_values |= builder->error.empty();
    builder->fail(ops::detail::NoBatchSize<Traced>::sentence);
    return 1;
  }
  /// What only a tensor has: the trace fails with a sentence that names the operator for it.
  template <int, int, int, class B = Broken>
  constexpr B slice() const {
    return refuse<B>("x.slice<...>()", "slice<axis, Part{begin, end}>(x)");
  }
  template <class I, class B = Broken>
  constexpr B operator[](I) const {
    return refuse<B>("x[i]", "slice<Part{i, i + 1}>(x), with i a constant, or gather(x, i)");
  }
  template <class... I, class B = Broken>
  constexpr B operator()(I...) const {
    return refuse<B>("x(i, j)", "slice<Part{i, i + 1}>(x), with i a constant, or gather(x, i)");
  }
  template <class U, class B = Broken>
  constexpr B to() const {
    return refuse<B>("x.to<T>()", "cast<T>(x)");
  }
  template <class B = Broken>
  constexpr B copy() const {
    return refuse<B>("x.copy()", "x itself, which nothing changes");
  }
  /// Stops the compilation with a sentence.
  template <class X = Traced>
  constexpr auto n() const {
    using Wrong = Mistake<ops::detail::NoBatchSize<X>>;
    return Wrong::corrected;
  }

 private:
  template <class B>
  constexpr B refuse(std::string_view member, std::string_view instead) const {
    builder->fail(Sentence{} << member << " is for tensors, a value in construct has no elements: write " << instead);
    return B(builder);
  }
};

/// What a failed shape rule returns. It passes silently through all operators and cells: the first error is reported
/// once, by the code that started the trace.
struct Broken : ops::Value<Broken> {
  Builder* builder = nullptr;
  constexpr Broken() = default;
  constexpr explicit Broken(Builder* b) : builder(b) {}
  constexpr Broken(const Broken&) = default;
  constexpr Broken& operator=(const Broken&) = default;
  template <class Other>
  requires(std::is_base_of_v<ops::OperandTag, Other>)
  constexpr Broken& operator=(const Other&) {
    return *this;
  }
  constexpr float item() const { return 0; }
  constexpr long n() const { return 1; }
  constexpr long extent(int) const { return 1; }
  constexpr explicit operator bool() const { return false; }
#if defined(__CUDACC__)  // for the program behind an eager mistake, see core/text/report.hpp
  static constexpr long count() { return 0; }
  const float* data() const { return nullptr; }
  constexpr Broken operator()(auto...) const { return *this; }
  constexpr Broken operator[](auto) const { return *this; }
  constexpr explicit operator double() const { return 0; }
#endif
};
#if defined(__CUDACC__)
namespace detail {
template <class Used>
struct PassedValue {
  using type = Broken;
};
}  // namespace detail
#endif

template <class V>
inline constexpr bool is_broken = std::is_same_v<std::remove_cvref_t<V>, Broken>;

namespace detail {
/// A value in the place of a result that is not computed.
template <class V>
constexpr V stand_in(Builder& b) {
  if constexpr (requires { V::dims; }) return V(&b, b.leaf(&info<ops::Input>, V::dims, 0));
  else if constexpr (is_broken<V>) return V(&b);
  else if constexpr (requires { std::tuple_size<V>::value; })
    return [&b]<std::size_t... I>(std::index_sequence<I...>) {
      return V{stand_in<std::tuple_element_t<I, V>>(b)...};
    }(std::make_index_sequence<std::tuple_size_v<V>>{});
  else return V{};
}
}  // namespace detail

}  // namespace tenon
