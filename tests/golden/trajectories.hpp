// How a training of another framework is repeated and compared: shared by the parts of trajectories.cpp, one per
// network.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/adam_weight_decay.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/ops/fused.hpp>
#include <tenon/ops/ops.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/model.hpp>

#include "../support/bits_of_cpu.hpp"
#include "../support/expect.hpp"
#include "../support/npz.hpp"
#include "../support/shared.hpp"

namespace trajectories {

using namespace tenon;
using support::expect;

/// A case that is repeated: "mlp/momentum", and what does it.
struct Case {
  std::string name;
  std::function<void()> run;
};
inline std::vector<Case>& cases() {
  static std::vector<Case> list;
  return list;
}
struct Register {
  Register(std::initializer_list<Case> more) { cases().insert(cases().end(), more.begin(), more.end()); }
};

/// Copies the gradient to a slot of the optimizer's state. Operands: slot, gradient.
struct RecordGradient : Operator<RecordGradient, "TestRecordGradient"> {
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    for (long i = begin; i < end; ++i) a.changed<float>(0)[i] = a.operand<float>(1)[i];
  }
};

}  // namespace trajectories

#if defined(__CUDACC__) || defined(TENON_CUDA_EMULATOR)
namespace trajectories {
struct CopyGradient {
  template <class Call>
  __device__ static void at(const Arguments& a, long i) {
    a.changed<float>(0)[i] = a.operand<float>(1)[i];
  }
};
}  // namespace trajectories
namespace tenon::inline TENON_ABI {
/// A step on a GPU is recorded: what runs on the host would run once.
template <>
struct Kernel<Cuda, trajectories::RecordGradient> : kernel::cuda::Elements<trajectories::CopyGradient> {};
}  // namespace tenon
#elif defined(TENON_TARGET)
namespace tenon::inline TENON_ABI {
/// A plain loop is right on every target that runs what the CPU runs.
template <>
struct Kernel<OtherTarget, trajectories::RecordGradient> : trajectories::RecordGradient {};
}  // namespace tenon
#endif

namespace trajectories {

/// An optimizer that also keeps the gradients of the last step, as "gradient.fc1.weight", if it has a slot left.
template <class Base>
struct Recording : Base {
  static constexpr bool records = Base::slots < nn::max_slots;
  static constexpr int slots = Base::slots + records;
  static constexpr std::array<std::string_view, 4> slot_names = [] {
    std::array<std::string_view, 4> names{};
    for (std::size_t i = 0; i < std::size_t(Base::slots); ++i) names[i] = Base::slot_names[i];
    if (records) names[std::size_t(Base::slots)] = "gradient";
    return names;
  }();
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    if constexpr (records) b.call<RecordGradient>(NoConfig{}, slot[Base::slots], gradient);
    Base::update(b, parameter, gradient, slot, numbers);
  }
};

/// |found - reference| <= absolute + relative * max |reference|
struct Tolerance {
  double absolute, relative;
};

/// Compares an array with `key` of the reference, or with its samples `key`@sample at index/`name`.
inline void compare(const AnyTensor& found, const support::Npz& golden, const std::string& key, const std::string& name,
                    Tolerance tolerance) {
  CAPTURE(key);
  const bool sampled = !golden.has(key);
  const std::vector<double> expected = golden[sampled ? key + "@sample" : key].numbers();
  const std::vector<std::int64_t> index =
      sampled ? golden["index/" + name].values<std::int64_t>() : std::vector<std::int64_t>{};
  if (!sampled) REQUIRE(found.count() == std::int64_t(expected.size()));
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error =
        std::fabs(static_cast<double>(found.as<float>()[sampled ? std::size_t(index[i]) : i]) - expected[i]);
    largest = std::fmax(largest, std::fabs(expected[i]));
    if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
  }
  CAPTURE(largest);
  CAPTURE(worst);
  expect(worst <= tolerance.absolute + tolerance.relative * largest);
}

inline const std::string& root() {
  static const std::string folder = support::shared_folder() + "/golden/trajectories/";
  return folder;
}

/// What a family is: its network, the loss, the types of x and y in the files, and which parameters cannot be compared
/// because their gradient is exactly 0 and rounding noise decides.
struct NothingNoisy {
  static bool noisy(const std::string&) { return false; }
};

template <class Family>
auto data_of(const support::Npz& batches) {
  const long batch = long(batches["x"].shape[1]);
  auto x = dataset::column<typename Family::Input>(Family::input(batches["x"]));
  auto y = dataset::column<typename Family::Label>(batches["y"].template values<std::int32_t>());
  return dataset::from_arrays(std::move(x), std::move(y)) | dataset::batch(batch);
}

/// Looks at the losses and gradients of a run.
template <class Family>
struct Watch {
  const support::Npz& golden;
  double sens;
  std::vector<float> expected;

  void begin(RunInfo&) { expected = golden["losses"].values<float>(); }
  void step_end(auto& run) {
    const std::size_t step = std::size_t(run.cur_step_num) - 1;
    CAPTURE(step);
    REQUIRE(step < expected.size());
    CAPTURE(run.loss());
    expect(std::fabs(run.loss() / sens - expected[step]) <= (step < 5 ? 1e-4 : 5e-4));
    if (step == 0 || step + 1 == expected.size())
      for (const auto& [name, tensor] : run.model.optimizer_state())
        if (name.starts_with("gradient.") && !Family::noisy(name.substr(9)))
          compare(tensor, golden, "grad" + std::to_string(step) + "/" + name.substr(9), name.substr(9),
                  {1e-6, step == 0 ? 2e-4 : 5e-3});
  }
  void end(RunInfo& run) { expect(std::size_t(run.cur_step_num) == expected.size()); }
};

template <class Net>
void read_parameters(const Net& net, const support::Npz& init) {
  for (const auto& [name, tensor] : named_parameters(net)) {
    const std::string bytes = init[name].bytes;
    REQUIRE(bytes.size() == tensor.bytes());
    std::memcpy(tensor.data, bytes.data(), bytes.size());
  }
}

template <class Family, class M>
void compare_end(M& model, const support::Npz& golden, const support::Npz& batches) {
  for (const auto& [name, tensor] : named_parameters(model.network()))
    if (!Family::noisy(name)) compare(tensor, golden, "final/" + name, name, {1e-4, 1e-3});
  int compared = 0, stored = 0;
  for (const auto& [name, array] : golden.arrays())
    if (!name.starts_with("optstate/mu_") && !name.starts_with("optstate/eta_"))  // numbers of a step, no state here
      stored += name.starts_with("optstate/") && name.find('.') != name.npos && !name.starts_with("optstate/stat.");
  for (const auto& [name, tensor] : model.optimizer_state()) {
    if (stored == 0 || name.starts_with("gradient.")) continue;  // where NumPy applied the rule, no state was kept
    ++compared;
    if (!Family::noisy(name)) compare(tensor, golden, "optstate/" + name, name, {1e-6, 5e-3});
  }
  expect(compared == stored);
  const std::vector<typename Family::Element> all = Family::input(batches["x"]);
  using Input =
      typename dataset::detail::Batch<dyn,
                                      dataset::Column<typename Family::Element, typename Family::Input>>::type::shape;
  auto x = Tensor<typename Family::Element, Input>::empty(long(batches["x"].shape[1]));
  std::copy_n(all.begin(), x.count(), x.data());
  const auto logits = model.predict(x);
  compare(logits.view(), golden, "eval_logits_batch0", "", {1e-3, 1e-3});
}

/// Where and how a case is repeated: bits agree on one target, and with the CPU's if the target promises that.
inline const std::vector<std::pair<std::string_view, Mode>> runs{{Cpu::name, Mode::graph},
                                                                 {Cpu::name, Mode::pynative},
#if defined(TENON_TARGET)
                                                                 {OtherTarget::name, Mode::graph},
                                                                 {OtherTarget::name, Mode::pynative}
#endif
};

/// Repeats a case in both modes.
template <class Family, class Loss = nn::SoftmaxCrossEntropyWithLogits<>, class Optimizer>
void repeat(const std::string& name, const Optimizer& optimizer, double sens = 1) {
  const support::Npz init = support::load_npz(root() + Family::name + "/init.npz"),
                     batches = support::load_npz(root() + Family::name + "/batches.npz");
  const support::Npz golden = support::load_npz(root() + Family::name + "/" + name + ".npz");
  std::string first;
  for (const auto& [target, mode] : runs) {
    CAPTURE(target);
    CAPTURE(tenon::name(mode));
    const ContextScope scope({.mode = mode, .device_target = target});
    typename Family::Net net;
    read_parameters(net, init);
    Model model{net, Loss{}, Recording<Optimizer>{optimizer}};
    Watch<Family> watch{golden, sens, {}};
    model.train(1, data_of<Family>(batches), watch);
    compare_end<Family>(model, golden, batches);
    std::string bits;
    for (const auto& list : {named_parameters(net), model.optimizer_state()})
      for (const auto& [key, tensor] : list) bits.append(static_cast<const char*>(tensor.data), tensor.bytes());
    if (first.empty() || (mode == Mode::graph && !support::has_bits_of_cpu<OtherTarget>)) first = bits;
    expect(bits == first);
  }
}

}  // namespace trajectories
