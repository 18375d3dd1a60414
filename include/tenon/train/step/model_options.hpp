// Choices about a Model: the modes and passes it carries, and what train() and eval() accept.
#pragma once
#include <initializer_list>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/lowering/compiled.hpp>
#include <tenon/nn/metric/count/mean_over.hpp>

namespace tenon::inline TENON_ABI {

/// Which modes a Model carries, and which passes its graphs run. A Model that is pinned to one mode contains no code of
/// the other: `Model model{pinned<Mode::graph>, net, ...}`.
struct ModelOptions {
  bool graph = true, pynative = true;
  Passes passes{};
};
template <ModelOptions options>
struct WithOptions {};
namespace detail {
template <class P>
inline constexpr bool is_with_options = false;
template <ModelOptions options>
inline constexpr bool is_with_options<WithOptions<options>> = true;
}  // namespace detail
/// Tag for a Model that supports only one mode.
template <Mode mode>
inline constexpr WithOptions<ModelOptions{mode == Mode::graph, mode == Mode::pynative, {}}> pinned{};
/// Tag for a Model with other passes; none of them changes a bit.
template <Passes passes>
inline constexpr WithOptions<ModelOptions{true, true, passes}> with_passes{};

/// Options of one train() or eval() with the names that MindSpore gives them: `model.train(10, data,
/// {.dataset_sink_mode = true})`.
struct TrainOptions {
  /// Accepted without effect: data never leaves this process, so there is nothing to sink. Events occur for every step
  /// in either case. MindSpore on a device gives one step_begin and step_end per sink, so that LossMonitor prints once
  /// per epoch and a stop waits for its end; Tenon does neither.
  bool dataset_sink_mode = false;
};

/// The epochs after which fit() evaluates: every n-th epoch, or the epochs of a list.
class ValidFrequency {
 public:
  /// Throws ValueError for a number below 1.
  ValidFrequency(long every) : epochs_{check(every)} {}
  ValidFrequency(std::initializer_list<long> epochs) : listed_(true), epochs_(epochs) {
    for (const long epoch : epochs_) check(epoch);
  }
  bool includes(long epoch) const {
    if (!listed_) return epoch % epochs_[0] == 0;
    for (const long each : epochs_)
      if (each == epoch) return true;
    return false;
  }

 private:
  static long check(long number) {
    if (number < 1) throw_error<ValueError>("Model.fit: valid_frequency must be 1 or more, got ", number, ".");
    return number;
  }
  bool listed_ = false;
  std::vector<long> epochs_;
};

/// Options of fit(), with the names that MindSpore gives them, and what "eval_loss" is a mean of, which in MindSpore
/// are batches.
struct FitOptions {
  ValidFrequency valid_frequency = 1;
  nn::MeanOver eval_loss = nn::MeanOver::samples;
};

}  // namespace tenon
