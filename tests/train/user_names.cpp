// Members of the user's own, under names that Tenon's classes have for their own ends, mean nothing to it: a network,
// callback, metric, loss, optimizer, data set, or initializer that has them trains as one without, in both modes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include <doctest/doctest.h>

#include <tenon/dataset/facts.hpp>
#include <tenon/dataset/operation/split.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

// ---- cells: the names as numbers, as constants, as methods, as types, and as layers

struct Plain : nn::Cell<Plain> {
  nn::Dense<6, 8> dense;
  constexpr auto construct(auto x) const { return relu(dense(x)); }
};
struct Flags : nn::Cell<Flags> {
  nn::Dense<6, 8> dense;
  bool frozen = false, transparent = false, named = true, numbered = true, results = true, is_cell = false;
  bool in_order = true, reorders = true, clipping = true, setting = true, is_setting = true, trainable = false;
  constexpr auto construct(auto x) const { return relu(dense(x)); }
};
struct Counts : nn::Cell<Counts> {
  nn::Dense<6, 8> dense;
  int frozen = 1, transparent = 2, named = 3, numbered = 4, results = 5, is_cell = 6, cell = 7, each_child = 8;
  constexpr auto construct(auto x) const { return relu(dense(x)); }
};
struct Constants : nn::Cell<Constants> {
  static constexpr bool frozen = true, transparent = true, named = true, numbered = true, is_cell = false;
  static constexpr int results = 3, children_of = 2, result_count = 4;
  nn::Dense<6, 8> dense;
  constexpr auto construct(auto x) const { return relu(dense(x)); }
};
struct Methods : nn::Cell<Methods> {
  nn::Dense<6, 8> dense;
  constexpr bool frozen() const { return true; }
  constexpr bool transparent() const { return true; }
  constexpr bool named() const { return true; }
  constexpr bool numbered() const { return true; }
  constexpr int results() const { return 3; }
  constexpr bool is_cell() const { return false; }
  template <class F>
  constexpr void each_child(F) const {}
  constexpr auto construct(auto x) const { return relu(dense(x)); }
};
struct Types : nn::Cell<Types> {
  using frozen = int;
  using named = void;
  using results = float;
  using cell_type = int;
  struct is_cell {};
  nn::Dense<6, 8> dense;
  constexpr auto construct(auto x) const { return relu(dense(x)); }
};

template <class Block>
struct Net : nn::Cell<Net<Block>> {
  Block block;
  nn::Dense<8, 3> head;
  constexpr auto construct(auto x) const { return head(block(x)); }
};

struct Layers : nn::Cell<Layers> {
  nn::Dense<6, 8> frozen;
  nn::Dense<8, 8> transparent, named, numbered, cell;
  nn::Dense<8, 3> results;
  constexpr auto construct(auto x) const {
    return results(relu(cell(numbered(named(relu(transparent(relu(frozen(x)))))))));
  }
};

// ---- data

std::vector<float> some_inputs() {
  std::vector<float> x(24 * 6);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i * 37 % 101) / 50 - 1;
  return x;
}
std::vector<std::int32_t> some_labels() {
  std::vector<std::int32_t> y(24);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::int32_t(i * 5 % 7 % 3);
  return y;
}
using Columns = dataset::Columns<dataset::Column<float, Shape<6>>, dataset::Column<std::int32_t, Shape<>>>;
struct Samples : dataset::Source<Samples> {
  using columns = Columns;
  std::vector<float> x = some_inputs();
  std::vector<std::int32_t> y = some_labels();
  long size() const { return 24; }
  void sample(long i, void* const* out) const {
    std::copy_n(x.data() + 6 * i, 6, static_cast<float*>(out[0]));
    *static_cast<std::int32_t*>(out[1]) = y[std::size_t(i)];
  }
};
struct NamedSamples : dataset::Source<NamedSamples> {
  using columns = Columns;
  using passes_rows_on = void;
  static constexpr bool in_order = true, reorders = true;
  Samples data;  // a data set, but no stage before this one
  long passes = 7, batch_size = 5, window = 3, most = 2, depth = 4, left_out = 1, drop_remainder = 1, frozen = 1;
  struct {
    int num_shards = 8, shard_id = 3;
  } sampler;
  long size() const { return 24; }
  void sample(long i, void* const* out) const { data.sample(i, out); }
};

// ---- what stands beside a network

struct Watch {
  bool frozen = true, transparent = true, named = true, numbered = true, results = true, every_value = true;
  long begin = 2, end = 3, step_begin = 4;  // numbers, no hooks
  int* steps;
  std::string_view held_name() const { return ""; }
  template <class E>
  void tell(int) {}
  void step_end(auto&) { ++*steps; }
};
struct Right {
  static constexpr std::string_view name = "right";
  bool frozen = true, named = true, numbered = true, transparent = true, results = true;
  long right = 0, all = 0;
  void clear() { right = all = 0; }
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    for (long i = 0; i < label.count(); ++i, ++all) {
      const float* const row = prediction.as<float>().data() + 3 * i;
      right += std::max_element(row, row + 3) - row == label.as<std::int32_t>()[std::size_t(i)];
    }
  }
  double eval() const { return double(right) / double(all); }
};
struct Loss : nn::Cell<Loss> {
  bool frozen = true, transparent = true, named = true, numbered = true, results = true, is_cell = false;
  constexpr auto construct(auto logits, auto label) const { return nn::SoftmaxCrossEntropyWithLogits{}(logits, label); }
};
struct Optimizer : nn::Momentum {
  bool frozen = true, named = true, accumulates = true;
  nn::Clipping clipping = nn::Clipping::by_global_norm;
  long batches = 4;
  float max_norm = 1e-3f;
};
struct ConstantOptimizer : nn::Momentum {
  static constexpr bool accumulates = true;
  static constexpr nn::Clipping clipping = nn::Clipping::by_value;
};
/// Clips as its base does, whatever its own members are called.
struct ClippingOptimizer : nn::ClipByNorm<nn::Momentum> {
  bool clipping = false, accumulates = true;
};

/// All weights, one after the other.
template <class N>
std::vector<float> weights_of(const N& net) {
  std::vector<float> all;
  for (const auto& [name, parameter] : net.parameters_and_names()) {
    const auto values = parameter.template values<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

template <class N>
std::vector<float> trained(Mode mode, const auto& data, auto loss, auto optimizer, auto metric, auto&&... callbacks) {
  const ContextScope scope({.mode = mode, .seed = 3});
  N net;
  Model model{net, loss, optimizer, metric};
  model.train(4, data | dataset::shuffle(24) | dataset::batch(6), callbacks...);
  std::vector<float> result = weights_of(net);
  result.push_back(float(model.eval(data | dataset::batch(8))[metric.name]));
  return result;
}
template <class N>
std::vector<float> trained(Mode mode) {
  return trained<N>(mode, Samples{}, nn::SoftmaxCrossEntropyWithLogits{},
                    nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}, nn::Accuracy{});
}

constexpr Mode modes[]{Mode::graph, Mode::pynative};

}  // namespace

TEST_CASE("Cells with members called frozen, transparent, named, numbered, results train as those without") {
  for (const Mode mode : modes) {
    CAPTURE(int(mode));
    const auto plain = trained<Net<Plain>>(mode);
    CHECK(trained<Net<Flags>>(mode) == plain);
    CHECK(trained<Net<Counts>>(mode) == plain);
    CHECK(trained<Net<Constants>>(mode) == plain);
    CHECK(trained<Net<Methods>>(mode) == plain);
    CHECK(trained<Net<Types>>(mode) == plain);
    // not equal because nothing was learned
    const ContextScope scope({.mode = mode, .seed = 3});
    Net<Flags> fresh;
    const auto before = weights_of(fresh);
    CHECK(before.size() + 1 == plain.size());
    CHECK(!std::equal(before.begin(), before.begin() + 6 * 8, plain.begin()));
    CHECK(fresh.trainable_params().size() == 4);
  }
}

TEST_CASE("Layers called frozen, transparent, named, numbered, results are trained under these names") {
  std::vector<float> both[2];
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode, .seed = 3});
    Layers net;
    std::string names;
    for (const auto& [name, parameter] : net.parameters_and_names()) names += name + " ";
    CHECK(names == "frozen.weight frozen.bias transparent.weight transparent.bias named.weight named.bias "
                   "numbered.weight numbered.bias cell.weight cell.bias results.weight results.bias ");
    const Layers before = net.clone();
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.1f}};
    model.train(2, Samples{} | dataset::batch(6));
    const auto changed = [](const auto& a, const auto& b) {
      return !std::equal(a.weight.values().begin(), a.weight.values().end(), b.weight.values().begin());
    };
    CHECK(changed(net.frozen, before.frozen));
    CHECK(changed(net.transparent, before.transparent));
    CHECK(changed(net.named, before.named));
    CHECK(changed(net.numbered, before.numbered));
    CHECK(changed(net.cell, before.cell));
    CHECK(changed(net.results, before.results));
    both[mode == Mode::graph] = weights_of(net);
  }
  CHECK(both[0] == both[1]);
}

TEST_CASE("Callbacks, metrics, losses, optimizers, and data sets with members of these names do as those without") {
  const nn::Momentum momentum{.learning_rate = 0.1f, .momentum = 0.9f};
  Optimizer named{momentum};
  ConstantOptimizer constant{momentum};
  ClippingOptimizer clips{{momentum, 1e-3f}};
  for (const Mode mode : modes) {
    CAPTURE(int(mode));
    const auto plain = trained<Net<Plain>>(mode);
    int steps = 0;
    CHECK(trained<Net<Plain>>(mode, Samples{}, Loss{}, momentum, Right{}, Watch{.steps = &steps}) == plain);
    CHECK(steps == 16);
    std::vector<AnyCallback> list{Watch{.steps = &steps}};
    CHECK(trained<Net<Plain>>(mode, NamedSamples{}, Loss{}, momentum, Right{}, list) == plain);
    CHECK(steps == 32);
    CHECK(trained<Net<Plain>>(mode, Samples{}, Loss{}, named, Right{}) == plain);
    CHECK(trained<Net<Plain>>(mode, Samples{}, Loss{}, constant, Right{}) == plain);
    const auto clipped = trained<Net<Plain>>(mode, Samples{}, Loss{}, nn::ClipByNorm{momentum, 1e-3f}, Right{});
    CHECK(clipped != plain);
    CHECK(trained<Net<Plain>>(mode, Samples{}, Loss{}, clips, Right{}) == clipped);
  }
}

TEST_CASE("A data set says of itself what its stages say, not what its members are called") {
  const auto data = NamedSamples{} | dataset::repeat(2) | dataset::batch(4);
  CHECK(dataset::get_batch_size(data) == 4);
  CHECK(dataset::get_batch_size(data | dataset::prefetch(1)) == 4);
  CHECK(dataset::get_batch_size(NamedSamples{}) == 1);
  CHECK(dataset::get_repeat_count(data) == 2);
  std::vector<std::string> stages;
  dataset::DataInfo(data).each_stage([&](const dataset::StageInfo& stage) {
    stages.emplace_back(stage.type);
    if (stage.type == "NamedSamples") CHECK(stage.count == 1);
  });
  CHECK(stages == std::vector<std::string>{"Batched", "Repeated", "NamedSamples"});
  const auto [a, b] = dataset::split(NamedSamples{}, {0.5, 0.5});  // which a stream, or reordered rows refuse
  CHECK(a.size() + b.size() == 24);
}
