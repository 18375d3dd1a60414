// A model behind a server, without its type: bytes of a batch in, bytes out.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/core/spread.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/dataset/stage/column.hpp>
#include <tenon/serve/signature.hpp>

namespace tenon::inline TENON_ABI::serving {

/// What computes batches.
class Servable {
 public:
  virtual ~Servable() = default;
  const Signature& signature() const { return signature_; }

  /// Computes a batch of n samples: `fill` gets the addresses of the inputs, `take` those of the outputs. Several
  /// threads may call it.
  virtual void compute(long n, FunctionRef<std::byte* const*> fill,
                       FunctionRef<const std::byte* const*> take) const = 0;

 protected:
  Signature signature_;
};

namespace detail {
/// The columns of a sample as tensors of a batch.
template <class Inputs>
struct InputTensors;
template <class... C>
struct InputTensors<dataset::Columns<C...>> {
  template <class T, class S>
  struct Batch;
  template <class T, int... E>
  struct Batch<T, Shape<E...>> {
    using type = Tensor<T, Shape<dyn, E...>>;
  };
  using type = std::tuple<typename Batch<typename C::type, typename C::shape>::type...>;

  static std::vector<NamedType> signature() {
    std::vector<NamedType> inputs;
    int unnamed = 0;
    const auto add = [&]<class One>(std::type_identity<One>, const TensorType& type) {
      std::string name(One::name.view());
      if (name.empty()) name = sizeof...(C) == 1 ? "input" : "input_" + std::to_string(unnamed);
      ++unnamed;
      inputs.push_back({std::move(name), type});
    };
    (add(std::type_identity<C>(), Batch<typename C::type, typename C::shape>::type::dims), ...);
    return inputs;
  }
};

/// The outputs of a prediction as a tuple of references.
template <class T>
auto output_tuple(T& result) {
  if constexpr (requires { T::dims; }) return std::tie(result);
  else return std::apply([](auto&... one) { return std::tie(one...); }, result);
}
}  // namespace detail

/// A Model that lives elsewhere, or that this shares.
template <class Inputs, class M>
class ServedModel final : public Servable {
  using Tensors = typename detail::InputTensors<Inputs>::type;
  template <class... X>
  static auto predicted(const M& model, const std::tuple<X...>&)
      -> decltype(model.predict(std::declval<const X&>()...));
  using Predicted = decltype(predicted(std::declval<const M&>(), std::declval<const Tensors&>()));

 public:
  ServedModel(std::shared_ptr<const M> model, std::vector<std::string> outputs) : model_(std::move(model)) {
    signature_.inputs = detail::InputTensors<Inputs>::signature();
    Predicted shapes;
    tenon::detail::spread([&](auto&... one) { (add_output(std::remove_reference_t<decltype(one)>::dims), ...); },
                          detail::output_tuple(shapes));
    std::vector<NamedType>& found = signature_.outputs;
    if (!outputs.empty() && outputs.size() != found.size())
      throw_error<ValueError>("serving: the model has ", found.size(), " outputs, ServedOptions::outputs has ",
                              outputs.size(), " names.");
    for (std::size_t k = 0; k < found.size(); ++k)
      found[k].name = !outputs.empty() ? outputs[k] : found.size() == 1 ? "output" : "output_" + std::to_string(k);
  }

  void compute(long n, FunctionRef<std::byte* const*> fill, FunctionRef<const std::byte* const*> take) const override {
    Tensors inputs;
    std::apply([&](auto&... x) { ((x = std::remove_reference_t<decltype(x)>::empty(n)), ...); }, inputs);
    std::apply(
        [&](auto&... x) {
          std::byte* const to[]{reinterpret_cast<std::byte*>(x.data())...};
          fill(to);
        },
        inputs);
    auto result = std::apply([&](const auto&... x) { return model_->predict(x...); }, std::as_const(inputs));
    std::apply(
        [&](const auto&... y) {
          const std::byte* const from[]{reinterpret_cast<const std::byte*>(std::as_const(y).data())...};
          take(from);
        },
        detail::output_tuple(result));
  }

 private:
  void add_output(const TensorType& type) {
    if (!type.batched() || type.extent[0] != dyn)
      throw_error<ValueError>("serving: an output of the model has no sample for each sample of its inputs, so it "
                              "would depend on other requests.");
    signature_.outputs.push_back({"", type});
  }

  std::shared_ptr<const M> model_;
};

}  // namespace tenon::serving
