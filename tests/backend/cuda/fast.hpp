// What tests of Math::tf32 share: results near the exact ones, trainings, messages.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <tenon/backend/cuda/fast.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../../support/both_modes.hpp"
#include "../../support/models.hpp"
#include "../../support/tensors.hpp"
#include "../../target/networks.hpp"

namespace fast_test {

using namespace tenon;
using namespace support;

/// Until the end of the scope products of any size go to the library.
struct AnySize {
  double before = std::exchange(kernel::cuda::least_fast_multiply_adds(), 0);
  ~AnySize() { kernel::cuda::least_fast_multiply_adds() = before; }
};
inline constexpr ContextChange fast{.device_target = "GPU", .math = Math::tf32};

/// f(x...) with Math::tf32 on the GPU.
template <class F, class... X>
auto fast_result(const F& f, const X&... x) {
  const ContextScope scope(fast);
  auto y = f(x...);
  y.data();
  return y;
}
/// Whether results must differ from the exact ones. On a GPU the libraries take tensor cores where all extents are
/// multiples of 8; elsewhere they may take kernels that add as ours do, with equal bits. The emulator always rounds.
template <class... X>
constexpr bool must_round() {
#if defined(TENON_CUDA_EMULATOR)
  return true;
#else
  const auto whole = [](const TensorType& type) {
    for (int axis = 0; axis < type.rank; ++axis)
      if (type.extent[axis] > 0 && type.extent[axis] % 8 != 0) return false;
    return true;
  };
  return (whole(X::dims) && ...);
#endif
}
/// Compares with the exact result, in units of f of absolute values: each factor may be off by its last of `digits`.
template <class F, class... X>
void near(int digits, const F& f, const X&... x) {
#if defined(TENON_CUDA_EMULATOR)
  const std::size_t before = emulator::lt_calls.size();
#endif
  const auto exact = f(x...), scale = f(abs(x)...), there = fast_result(f, x...), again = fast_result(f, x...);
  CHECK(same_bits(there, again));
  if constexpr (sizeof *exact.data() == 4 && must_round<X...>())  // 16 bits hide another order of sums
    CHECK(!same_bits(there, exact));
#if defined(TENON_CUDA_EMULATOR)
  CHECK(emulator::lt_calls.size() == before + 2);
#endif
  double worst = 0;
  for (long i = 0; i < exact.count(); ++i)
    worst = std::max(worst, std::abs(double(there.data()[i]) - double(exact.data()[i])) / double(scale.data()[i]));
  CHECK(worst < std::ldexp(4, -digits));
}
struct Trained {
  std::vector<double> losses;
  std::vector<std::uint64_t> weights;
  bool operator==(const Trained&) const = default;
};
struct Losses {
  std::vector<double>& all;
  void step_end(RunInfo& run) { all.push_back(run.loss()); }
};
/// Trains 4 epochs with `change`, then as many exactly.
template <class Net>
Trained trained(const ContextChange& change, Mode mode, const auto& data, float rate) {
  const ContextScope scope(change);
  const ContextScope also({.mode = mode, .seed = 7});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = rate}};
  Trained result;
  Losses losses{result.losses};
  model.train(4, data, losses);
  set_context({.math = Math::exact});
  model.train(4, data, losses);
  for (const auto& [name, tensor] : named_parameters(net))
    result.weights.push_back(hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), 0));
  return result;
}
/// `rate`: small where a network is chaotic, as batch normalization of small batches is.
template <class Net>
void check_training(const auto& data, float rate = 0.01f) {
  const AnySize any;
  const Trained exact = trained<Net>({.device_target = "GPU"}, Mode::graph, data, rate);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const Trained there = trained<Net>(fast, mode, data, rate), again = trained<Net>(fast, mode, data, rate);
    CHECK(there == again);
    CHECK(there.weights != exact.weights);
    for (std::size_t i = 0; i < exact.losses.size(); ++i)
      CHECK(there.losses[i] == doctest::Approx(exact.losses[i]).epsilon(0.02));
    CHECK(there.losses.back() < 0.9 * there.losses.front());
  }
}

inline std::string message_of(auto f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
inline bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

}  // namespace fast_test
