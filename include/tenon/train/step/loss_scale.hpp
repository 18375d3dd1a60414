// The loss scale of a training as it changes from step to step.
#pragma once
#include <array>

#include <tenon/core/error.hpp>
#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/train/amp.hpp>
#if TENON_DEFINES

#include <tenon/train/callback/run/run_info.hpp>
#endif

namespace tenon::inline TENON_ABI {
struct RunInfo;
}
namespace tenon::inline TENON_ABI::detail {

/// The numbers of a loss scale manager, whichever it is, and what the steps so far made of them.
class LossScale {
 public:
  static constexpr long most_overflows = 1000;  // in a row
  /// Why a run ends after more of them.
  [[gnu::cold]] static std::string overflow_text(const RunInfo& run);

  LossScale() = default;
  /// `divisor` is the optimizer's loss_scale. Both throw ValueError for numbers that cannot be right.
  template <bool drop>
  LossScale(const FixedLossScaleManager<drop>& manager, float divisor) : value_(manager.loss_scale) {
    check("FixedLossScaleManager: loss_scale", manager.loss_scale);
    if (drop) check_divided_once("FixedLossScaleManager", divisor);
    else if (divisor != manager.loss_scale)
      throw_error<ValueError>("FixedLossScaleManager<false>: without drop_overflow_update the optimizer divides the "
                              "gradients, its loss_scale must be ",
                              manager.loss_scale, ", too, got ", divisor, ".");
  }
  LossScale(const DynamicLossScaleManager& manager, float divisor);

  float value() const { return value_; }
  /// Updates that were skipped so far.
  long skipped() const { return skipped_; }
  /// What changes from step to step, for checkpoints: the value, and four counts.
  std::array<double, 5> numbers() const {
    return {double(value_), double(step_), double(last_overflow_), double(skipped_), double(in_a_row_)};
  }
  void take(const double* n) {
    value_ = float(n[0]), step_ = long(n[1]), last_overflow_ = long(n[2]), skipped_ = long(n[3]),
    in_a_row_ = long(n[4]);
  }
  /// Takes note of a step. False after too many overflows in a row.
  bool update(bool overflow);

 private:
  static void check(std::string_view what, float value);
  static void check_divided_once(std::string_view manager, float divisor);

  float value_ = 1, factor_ = 1;
  long window_ = 1, step_ = 0, last_overflow_ = 0, skipped_ = 0, in_a_row_ = 0;
};

/// A loss that is not scaled.
struct NoLossScale {
  static constexpr long skipped() { return 0; }
  static constexpr std::array<double, 5> numbers() { return {}; }
  static constexpr void take(const double*) {}
};
template <MixedPrecision precision>
using ScaleOf = std::conditional_t<precision.scales_loss, LossScale, NoLossScale>;

/// The loss scale that the parts of a Model ask for.
template <MixedPrecision precision, class Optimizer, class... Parts>
ScaleOf<precision> loss_scale_of([[maybe_unused]] const Optimizer& optimizer, [[maybe_unused]] const Parts&... parts) {
  ScaleOf<precision> scale;
  if constexpr (precision.scales_loss) {
    if constexpr (!(is_loss_scale<Parts> || ...)) scale = LossScale(DynamicLossScaleManager{}, optimizer.loss_scale);
    else {
      const auto take = [&](const auto& part) {
        if constexpr (is_loss_scale<std::remove_cvref_t<decltype(part)>>) scale = LossScale(part, optimizer.loss_scale);
      };
      (take(parts), ...);
    }
  }
  return scale;
}

#if TENON_DEFINES
TENON_INLINE_CONSTRUCTOR LossScale::LossScale(const DynamicLossScaleManager& manager, float divisor)
    : value_(manager.init_loss_scale), factor_(manager.scale_factor), window_(manager.scale_window) {
  check("DynamicLossScaleManager: init_loss_scale", manager.init_loss_scale);
  check("DynamicLossScaleManager: scale_factor", manager.scale_factor);
  if (manager.scale_window < 1)
    throw_error<ValueError>("DynamicLossScaleManager: scale_window must be 1 or more, got ", manager.scale_window, ".");
  check_divided_once("DynamicLossScaleManager", divisor);
}
TENON_INLINE bool LossScale::update(bool overflow) {
  ++step_;
  if (overflow) {
    ++skipped_;
    value_ = math::max(value_ / factor_, 1.0f);
    last_overflow_ = step_;
    ++in_a_row_;
  } else {
    in_a_row_ = 0;
    if (const float larger = value_ * factor_;
        (step_ - last_overflow_) % window_ == 0 && tenon::detail::libm::finite(larger))
      value_ = larger;
  }
  return in_a_row_ <= most_overflows;
}
TENON_INLINE void LossScale::check(std::string_view what, float value) {
  if (!(value >= 1 && tenon::detail::libm::finite(value)))
    throw_error<ValueError>(what, " must be a finite number, 1 or more, got ", value, ".");
}
TENON_INLINE void LossScale::check_divided_once(std::string_view manager, float divisor) {
  if (divisor != 1)
    throw_error<ValueError>(
        manager,
        " divides the gradients by the loss scale; the optimizer would divide them again, by its own loss_scale of ",
        divisor, ": leave that at 1.");
}
TENON_INLINE std::string LossScale::overflow_text(const RunInfo& run) {
  return text(
      "the gradients overflowed in more than ", most_overflows, " steps in a row, the loss scale is ", run.loss_scale,
      ". Lower the learning rate, or look for bad input or an operator that leaves the range of the 16-bit type");
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
