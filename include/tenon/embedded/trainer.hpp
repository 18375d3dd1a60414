// A network that predicts and learns in memory of a fixed size: no heap, one sample at a time.
#pragma once
#include <span>

#include <tenon/embedded/program.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/nn/traced_graph.hpp>
#include <tenon/train/step/graphs.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::embedded {

/// nn::SGD without momentum, and without the memory for it; the weights are those of nn::SGD{.momentum = 0}.
struct PlainSGD {
  nn::LearningRate learning_rate = 0.1;
  float weight_decay = 0;
  float loss_scale = 1;
  nn::ParameterGroups groups{};

  static constexpr std::string_view name = "SGD";
  static constexpr int slots = 1;
  static constexpr bool slots_stay_unused = true;
  static constexpr std::string_view slot_names[1]{"accum"};
  void check() const {}
  void numbers(long, nn::Numbers& n) const { n.value[4] = 1; }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    nn::SGD::update(b, parameter, gradient, slot, numbers);
  }
};

/// One sample of a column X, Tensor<T, Shape<dyn, ...>>: an array of its elements, or of one element its value.
template <class X>
struct Sample {
  using T = typename X::type;
  static constexpr long count = X::dims.count(1);
  const T* data;
  constexpr Sample(const T (&elements)[count]) : data(elements) {}
  constexpr Sample(std::span<const T, std::size_t(count)> elements) : data(elements.data()) {}
  constexpr Sample(std::span<T, std::size_t(count)> elements) : data(elements.data()) {}
  constexpr Sample(const T& one) requires(count == 1)
      : data(&one) {}
};

namespace detail {
/// A graph that is compiled here; what is wrong with it is a compile error in one sentence.
template <class Source>
constexpr auto checked() {
  using Graph = tenon::detail::TriedGraph<Source, passes>;
  if constexpr (!Graph::ok) return report<Graph>();
  return std::type_identity<Graph>();
}
template <class Source>
using Checked = typename decltype(checked<Source>())::type;
template <class Net, class... X>
using Forward = tenon::detail::EvalStepIn<Net, NoLoss, MixedPrecision{}, typename tenon::detail::KeyFor<X>::type...>;

/// Whether weight decay leaves an entry alone, without groups: nn::UpdateRules says so by its name.
template <class Net>
constexpr bool decays(int entry) {
  Sentence s;
  write_path(s, Structure<Net>::table.entry, entry, ".", false);
  return s.view().find("beta") == std::string_view::npos && s.view().find("gamma") == std::string_view::npos;
}
/// Where the numbers of each trained parameter stand in the state.
struct NumbersAt {
  long offset = 0;
  bool decays = true;
};
template <class Net, class Optimizer>
inline constexpr auto numbers_at = [] {
  std::array<NumbersAt, std::size_t(Structure<Net>::count)> made{};
  std::size_t count = 0;
  for (int e = 0; e < Structure<Net>::count; ++e)
    if (const long at = StateLayout<Net, Optimizer>::table.numbers[e]) made[count++] = {at, decays<Net>(e)};
  return made;
}();
template <class Net, class Optimizer>
constexpr long state_bytes() {
  using Layout = StateLayout<Net, Optimizer>;
  if constexpr (requires { Optimizer::slots_stay_unused; }) {
    long first = Layout::table.bytes;
    for (int e = 0; e < Layout::entries; ++e)
      if (const long at = Layout::table.slot[e][0]; at && at < first) first = at;
    return first;
  } else return Layout::table.bytes;
}
/// Draws the initial values of a network, as a Model does with the same seed.
template <class Net>
void draw_parameters(std::byte* parameters, std::uint64_t seed) {
  for (const Entry& e : Structure<Net>::table.entry)
    if (e.parameter)
      e.initialize(parameters + e.offset, e.dims, hash_number(e.path, seed),
                   *static_cast<const ParameterHandle*>(e.address));
}
/// The elements of the parameter of that name, "conv1.weight".
template <class Net, FixedString name>
constexpr int entry_named() {
  for (int e = 0; e < Structure<Net>::count; ++e) {
    Sentence s;
    write_path(s, Structure<Net>::table.entry, e, ".", false);
    if (Structure<Net>::table.entry[e].parameter && s.view() == name.view()) return e;
  }
  return -1;
}
}  // namespace detail

/// What predicts with parameters that are anywhere, also in flash. X: the network's inputs, Tensor<T, Shape<dyn, ...>>.
template <class Net, class... X>
class Predictor {
  using Graph = detail::Checked<detail::Forward<Net, X...>>;
  using Run = Table<Graph>;
  static constexpr TensorType result = Graph::graph[Graph::graph.output[0]].type;

 public:
  using Result = CppType<result.dtype>;
  static constexpr long scratch_bytes = Run::bytes, parameter_bytes = Structure<Net>::table.bytes;

  /// The network's output for one sample, until the next call. `parameters`: parameter_bytes bytes as
  /// Trainer::parameters() has them, aligned to 64.
  std::span<const Result, std::size_t(result.count(1))> predict(const std::byte* parameters, Sample<X>... x) {
    return predict_in(scratch_, parameters, x...);
  }
  /// The same with the caller's memory: scratch_bytes bytes, aligned to 64.
  static std::span<const Result, std::size_t(result.count(1))> predict_in(std::byte* scratch,
                                                                          const std::byte* parameters, Sample<X>... x) {
    const void* inputs[]{x.data...};
    alignas(8) std::byte state[alignment]{};
    const Memory m{scratch, const_cast<std::byte*>(parameters), state, inputs};
    Run::run(m);
    return std::span<const Result, std::size_t(result.count(1))>(static_cast<const Result*>(Run::output(m)),
                                                                 std::size_t(result.count(1)));
  }

 private:
  alignas(alignment) std::byte scratch_[scratch_bytes];
};

/// The same with parameters that it trains. X: the columns of a row, the inputs and the label. All of its memory is in
/// it, sizeof(Trainer) bytes; a static variable of this type costs no flash.
template <class Net, class Loss, class Optimizer, class... X>
class Trainer {
  using Layout = StateLayout<Net, Optimizer>;
  using Graph = detail::Checked<
      tenon::detail::TrainStepIn<Net, Loss, Optimizer, MixedPrecision{}, typename tenon::detail::KeyFor<X>::type...>>;
  using Run = Table<Graph>;
  static constexpr nn::Clipping clipping = nn::detail::clipping_of<Optimizer>;
  static_assert(!nn::detail::accumulates<Optimizer> && clipping == nn::Clipping::none,
                "on a microcontroller updates run as gradients get ready: no sums over batches, and no clipping");
  static_assert(!requires(const Optimizer& o) { o.initial(0); }, "moments start at 0 on a microcontroller");
  // The predictor of the columns that are no label.
  template <std::size_t... I>
  static Predictor<Net, std::tuple_element_t<I, std::tuple<X...>>...> find(std::index_sequence<I...>);
  static constexpr std::size_t inputs = sizeof...(X) - std::size_t(tenon::detail::label_columns<Loss>);
  using Forward = decltype(find(std::make_index_sequence<inputs>()));
  static constexpr TensorType loss_type = Graph::graph[Graph::graph.output[0]].type;
  static_assert(loss_type.dtype == Dtype::float32 && loss_type.count(1) == 1, "a step gives one loss of float32");

 public:
  static constexpr long parameter_bytes = Structure<Net>::table.bytes,
                        state_bytes = detail::state_bytes<Net, Optimizer>(),
                        scratch_bytes = Run::bytes > Forward::scratch_bytes ? Run::bytes : Forward::scratch_bytes;

  /// Draws the initial values that a Model draws with the same seed, and forgets what the optimizer knows.
  void start(std::uint64_t seed = 0) {
    detail::draw_parameters<Net>(parameters_, seed);
    std::memset(state_, 0, sizeof state_);
    random()[0] = seed;
  }
  /// One training step; returns the loss before it. A label outside of the classes ends in refuse(), with nothing
  /// changed: ask fits() before.
  float step(const Optimizer& optimizer, Sample<X>... x) {
    const void* samples[]{x.data...};
    const Memory m{scratch_, parameters_, state_, samples};
    write_numbers(optimizer);
    Run::run(m);
    ++random()[1];
    return *static_cast<const float*>(Run::output(m));
  }
  /// Whether each label of a sample is one of the classes.
  bool fits(Sample<X>... x) {
    const void* samples[]{x.data...};
    return Run::fits({scratch_, parameters_, state_, samples});
  }
  /// The network's output for one sample, until the next call.
  template <class... Input>
  requires(sizeof...(Input) == inputs)
  auto predict(const Input&... x) {
    return Forward::predict_in(scratch_, parameters_, x...);
  }
  /// All parameters as bytes; each begins at a multiple of 64.
  std::span<std::byte> parameters() { return {parameters_, sizeof parameters_}; }
  /// The elements of one: values<"conv1.weight">().
  template <FixedString name>
  auto values() {
    constexpr int entry = detail::entry_named<Net, name>();
    static_assert(entry >= 0, "the network has no parameter of this name");
    constexpr Entry own = Structure<Net>::table.entry[entry];
    using T = CppType<own.dims.dtype>;
    return std::span<T>(reinterpret_cast<T*>(parameters_ + own.offset), std::size_t(own.dims.count(1)));
  }
  /// Steps so far.
  long steps() const { return static_cast<long>(reinterpret_cast<const std::uint64_t*>(state_)[1]); }

 private:
  std::uint64_t* random() { return reinterpret_cast<std::uint64_t*>(state_); }
  void write_numbers(const Optimizer& optimizer) {
    optimizer.check();
    if (optimizer.groups.size() != 0)  // in a program without exceptions there is no such member to set
      throw_error<ValueError>(Optimizer::name, ": embedded::Trainer has no groups of parameters; leave .groups out.");
    nn::Numbers n;
    n.learning_rate() = optimizer.learning_rate.at(steps());
    n.gradient_scale() = 1 / optimizer.loss_scale;
    n.weight_decay() = optimizer.weight_decay;
    optimizer.numbers(steps(), n);
    for (const detail::NumbersAt& at : detail::numbers_at<Net, Optimizer>) {
      if (!at.offset) break;
      nn::Numbers own = n;
      if (!at.decays) own.weight_decay() = 0;
      std::memcpy(state_ + at.offset, &own, sizeof own);
    }
  }

  alignas(alignment) std::byte parameters_[parameter_bytes];
  alignas(alignment) std::byte state_[state_bytes];
  alignas(alignment) std::byte scratch_[scratch_bytes];
};

}  // namespace tenon::embedded
TENON_INT_SIZES_END
