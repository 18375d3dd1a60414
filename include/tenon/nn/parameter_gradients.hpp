// Gradients of a function with respect to the parameters of a network: value_and_grad(f, net).
#pragma once
#include <tuple>

#include <tenon/nn/cell.hpp>
#include <tenon/nn/total_loss.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// The type of the parameter of an entry, as a tensor's arguments.
template <class Net, int e>
struct EntryType {
  static constexpr TensorType result_type = Structure<Net>::table.entry[e].dims;
};
/// Calls f.operator()<e>() for each entry that is a trainable parameter.
template <class Net, class F>
constexpr void for_each_trainable(F f) {
  [&]<int... e>(std::integer_sequence<int, e...>) {
    const auto one = [&]<int i>() {
      if constexpr (Structure<Net>::table.entry[i].trainable) f.template operator()<i>();
    };
    (one.template operator()<e>(), ...);
  }(std::make_integer_sequence<int, Structure<Net>::count>{});
}
}  // namespace detail

/// Gradients of a network's parameters. value_and_grad(f, net) makes them, an OptimizerStep takes them.
template <class Net>
class ParameterGradients {
 public:
  ParameterGradients(const Net& net, const eager::Tape& tape)
      : net_(&net), gradients_(std::size_t(Structure<Net>::count)) {
    const ParameterList list(net);
    for (int e = 0; e < list.entries(); ++e)
      if (list.table()[e].parameter)
        if (const void* g = tape.gradient_data(list.handle(e))) {
          const std::size_t bytes = std::size_t(list.table()[e].dims.bytes(1));
          gradients_[std::size_t(e)] = Storage(bytes);
          std::memcpy(gradients_[std::size_t(e)].data(), detail::home(g), bytes);
        }
  }
  /// The gradient of a parameter, zeros if the value does not depend on it.
  template <class T, class S, auto Init, bool Trainable>
  Tensor<T, S> operator()(const Parameter<T, S, Init, Trainable>& p) const {
    const ParameterList list(*net_);
    for (int e = 0; e < list.entries(); ++e)
      if (list.table()[e].parameter && &list.handle(e) == &p && gradients_[std::size_t(e)])
        return Tensor<T, S>(gradients_[std::size_t(e)], 1);
    return Tensor<T, S>::full(T(0));
  }
  /// The gradient of the parameter with this name, as "conv1.weight"; data is null if the value does not depend on it.
  /// Throws KeyError naming the nearest parameter.
  AnyTensor operator[](std::string_view name) const {
    constexpr const Entry* table = Structure<Net>::table.entry;
    std::vector<std::string> names;
    for (int e = 0; e < Structure<Net>::count; ++e) {
      if (!table[e].parameter) continue;
      names.push_back(parameter_name(table, e));
      if (names.back() == name) return AnyTensor(table[e].dims, 1, gradients_[std::size_t(e)].data());
    }
    throw_error<KeyError>("There is no parameter '", name, "'.", did_you_mean(name, names));
  }
  /// f of the gradient of each trainable parameter that the value depends on:
  /// `gradients.map([](auto g) { return clip_by_value(g, -1, 1); })`.
  template <class F>
  ParameterGradients map(F f) const {
    ParameterGradients result = *this;
    detail::for_each_trainable<Net>([&]<int e>() {
      using Own = detail::EntryType<Net, e>;
      Storage& g = result.gradients_[std::size_t(e)];
      if (g) g = f(Tensor<detail::ResultElement<Own>, detail::ResultShape<Own>>(g, 1)).copy().storage();
    });
    return result;
  }
  /// The elements of the gradient of an entry of the network's table, null if there are none.
  const void* data(int entry) const { return gradients_[std::size_t(entry)].data(); }

 private:
  const Net* net_;
  std::vector<Storage> gradients_;
};

/// The same inside of a compiled step.
template <class Net>
class TracedGradients {
 public:
  constexpr TracedGradients(Builder* b, std::vector<int> nodes) : builder_(b), nodes_(std::move(nodes)) {}
  template <class T, class S, auto Init, bool Trainable>
  constexpr auto operator()(const Parameter<T, S, Init, Trainable>& p) const {
    const int node = nodes_[std::size_t(builder_->nodes[std::size_t(detail::lift(*builder_, p))].immediate)];
    if (node >= 0) return Traced<T, S>(builder_, node);
    const int zero = builder_->constant(dtype_of<T>, 0);
    constexpr TensorType dims = type_of<T, S>;
    return Traced<T, S>(builder_,
                        dims.rank ? builder_->template call<ops::BroadcastTo>(ops::SumTo::to(dims), zero) : zero);
  }
  template <class F>
  constexpr TracedGradients map(F f) const {
    TracedGradients result = *this;
    detail::for_each_trainable<Net>([&]<int e>() {
      using Own = detail::EntryType<Net, e>;
      int& node = result.nodes_[std::size_t(e)];
      if (node >= 0) node = f(Traced<detail::ResultElement<Own>, detail::ResultShape<Own>>(builder_, node)).id;
    });
    return result;
  }
  /// The node of the gradient of each entry, -1 where there is none.
  constexpr const std::vector<int>& nodes() const { return nodes_; }
  constexpr Builder& builder() const { return *builder_; }

 private:
  Builder* builder_;
  std::vector<int> nodes_;
};

namespace detail {
/// Appends the backward pass of a loss, whose own gradient is node `seed`. Returns the gradient of each entry, or -1.
template <class Net>
constexpr std::vector<int> traced_parameter_gradients(Builder& b, int loss, int seed) {
  constexpr const Entry* table = Structure<Net>::table.entry;
  std::vector<int> wanted(b.nodes.size(), 0);
  for (std::size_t id = 0; id < b.nodes.size(); ++id)
    wanted[id] = is<ops::ParameterLeaf>(b.nodes[id]) && table[b.nodes[id].immediate].trainable;
  const std::vector<int> gradient = backward(b, loss, seed, wanted);
  std::vector<int> of_entry(std::size_t(Structure<Net>::count), -1);
  for (int e = 0; e < Structure<Net>::count; ++e) {
    const int parameter = table[e].trainable ? b.parameter_node(e) : -1;
    if (parameter >= 0 && parameter <= loss) of_entry[std::size_t(e)] = gradient[std::size_t(parameter)];
  }
  return of_entry;
}
}  // namespace detail

namespace detail {
/// The gradients after a mistake: any lookup compiles, to avoid further errors.
struct BrokenGradients {
  constexpr Broken operator()(const auto&...) const { return {}; }
  constexpr BrokenGradients map(const auto&) const { return {}; }
};
}  // namespace detail

/// A function and a network; a call gives the value and the gradients of the parameters. Made by value_and_grad().
template <class F, class Net>
struct NetworkGradient {
  F f;
  const Net& net;

  template <class... X>
  constexpr auto operator()(const X&... x) const {
    using Value = decltype(f(x...));
    if constexpr (is_broken<Value>) return std::tuple(f(x...), detail::BrokenGradients());
    else if constexpr (detail::holds_traced<Value>) return traced(f(x...));
    else return eager(x...);
  }

 private:
  template <class V>
  static constexpr auto traced(const V& value) {
    const auto total = detail::total_loss(value);
    Builder& b = *total.builder;
    const int seed = b.constant(decltype(total)::dims.dtype, 1);
    return std::tuple(value, TracedGradients<Net>(&b, detail::traced_parameter_gradients<Net>(b, total.id, seed)));
  }
  template <class... X>
  auto eager(const X&... x) const {
    const FlushDenormals flush;
    ParameterList(net).bind();
    eager::Tape tape;
    auto value = f(x...);
    const auto total = detail::total_loss(value);
    const bool lost_outer = tape.hides_outer();
    tape.pause();
    if (lost_outer)
      throw_error<RuntimeError>("value_and_grad inside of another gradient, or of the training step of a Model, would "
                                "lose the outer gradient: call it outside of the network.");
    tape.backward(total);
    return std::tuple(std::move(value), ParameterGradients<Net>(net, tape));
  }
};

/// `f` as a function that also gives the gradients of the trainable parameters of a network:
///
///     const auto [loss, gradients] = value_and_grad([&] { return loss_fn(net(x), y); }, net)();
///
/// f        any callable of tensors, or of nothing, that returns a loss, or a std::tuple of losses, whose sum is
///          differentiated then
/// result   std::tuple of what f returns and ParameterGradients
/// It runs operator by operator, and is compiled inside of jit(step, net, optimizer). Direct calls of the network train
/// after net.set_train(). Throws RuntimeError inside of another gradient. Source: MindSpore's value_and_grad(fn, None,
/// weights).
template <class F, class Net>
requires AnyCell<Net>
constexpr auto value_and_grad(F f, const Net& net) {
  return NetworkGradient<F, Net>{std::move(f), net};
}

}  // namespace tenon
