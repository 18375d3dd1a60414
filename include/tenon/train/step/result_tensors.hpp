// Tensors for what a compiled graph returns, and the batch size of what it is called with.
#pragma once
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include <tenon/core/spread.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/nn/jit.hpp>

namespace tenon::inline TENON_ABI::detail {

/// The type of output K of a compiled graph, for ResultElement and ResultShape.
template <class Graph, int K>
struct OutputType {
  static constexpr TensorType result_type = Graph::graph[Graph::graph.output[K]].type;
};
template <class Graph, int K>
using OutputTensor = Tensor<ResultElement<OutputType<Graph, K>>, ResultShape<OutputType<Graph, K>>>;

/// All outputs of a graph: a tensor, or a tuple of tensors.
template <class Graph, class Index = std::make_integer_sequence<int, Graph::graph.outputs>>
struct OutputTensors;
template <class Graph, int... K>
struct OutputTensors<Graph, std::integer_sequence<int, K...>> {
  using type = std::tuple<OutputTensor<Graph, K>...>;
};
template <class Graph>
struct OutputTensors<Graph, std::integer_sequence<int, 0>> {
  using type = OutputTensor<Graph, 0>;
};

/// Tensors for all outputs of a graph on a batch of n.
template <class Graph>
auto empty_results(long n) {
  typename OutputTensors<Graph>::type result;
  const auto make = [n]<class T>(T& one) { one = T::empty(n); };
  if constexpr (is_tuple<decltype(result)>) spread([&](auto&... one) { (make(one), ...); }, result);
  else make(result);
  return result;
}

/// Whether tensors of these types take what a graph returns.
template <class Graph, class... R>
inline constexpr bool takes_results = std::is_same_v<typename OutputTensors<Graph>::type, std::tuple<R...>> ||
                                      std::is_same_v<std::tuple<typename OutputTensors<Graph>::type>, std::tuple<R...>>;
/// For a target that computes, where a tensor's elements are known; for the host, where they are.
template <class T, class S>
void* address_here(const Tensor<T, S>& x) {
  if constexpr (several_targets)
    if (computes_there() && !x.storage().made_in_nchw16n()) return x.storage().address();
  return const_cast<T*>(x.data());
}
/// The same for a tensor that is to be overwritten. One that shares its memory may be a part of a larger value: then a
/// target gets all of it, because it does not keep apart what is in one block.
template <class T, class S>
void* address_to_overwrite(const Tensor<T, S>& x) {
  void* const address = address_here(x);
#if defined(TENON_TARGET)
  if (computes_there() && !x.storage().unique())
    TargetMemory::instance().there(TargetScope::current(), static_cast<std::byte*>(address), TargetMemory::Use::change);
#endif
  return address;
}
/// Where the results of a prediction go. Throws ValueError if one has another batch size.
template <class... R>
std::array<void*, sizeof...(R)> addresses_of(const std::tuple<R&...>& results, long n) {
  const auto check = [&](const auto& one) {
    if (one.count() != std::remove_cvref_t<decltype(one)>::dims.count(n))
      throw_error<ValueError>("Model.predict_into: a result has the shape ", shape_text(one.view().shape()),
                              ", the inputs' batch size is ", n, ": make it with empty(n).");
  };
  spread([&](const auto&... one) { (check(one), ...); }, results);
  return spread([](auto&... one) { return std::array<void*, sizeof...(R)>{address_to_overwrite(one)...}; }, results);
}

/// Copies a result of a prediction from where the target of this thread computed it. That may have the copy, too, until
/// the host looks at it.
inline void copy_result(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
#if defined(TENON_TARGET)
  auto* const source = static_cast<std::byte*>(const_cast<void*>(from));
  if (computes_there() &&
      TargetMemory::instance().copy_within(TargetScope::current(), static_cast<std::byte*>(to), source, bytes))
    return;
  from = home(source, bytes, Look::read);
  to = home(static_cast<std::byte*>(to));
#endif
  std::memcpy(to, from, bytes);
}
/// Copies the results of a prediction, one tensor or a tuple of them, to the addresses from `to` on.
template <class T, class S>
void copy_results(void* const*& to, const Tensor<T, S>& value) {
  copy_result(*to++, address_here(value), std::size_t(Tensor<T, S>::dims.bytes(value.n())));
}
template <class... V>
void copy_results(void* const*& to, const std::tuple<V...>& values) {
  spread([&](const auto&... v) { (copy_results(to, v), ...); }, values);
}

/// The batch size that all inputs of a prediction share. Throws ValueError if they differ, or one has no elements.
template <class... X>
long batch_size_of(const X&... x) {
  long n = -1;
  const auto take = [&](const auto& v) {
    if (!v.storage()) throw_error<ValueError>("Model.predict got a tensor without elements: assign to it first.");
    if (!std::remove_cvref_t<decltype(v)>::dims.batched()) return;
    if (n >= 0 && n != v.n())
      throw_error<ValueError>("Model.predict got inputs of batch size ", n, " and ", v.n(), ": they must agree.");
    n = v.n();
  };
  (take(x), ...);
  return n < 0 ? 1 : n;
}

}  // namespace tenon::detail
