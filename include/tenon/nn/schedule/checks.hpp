// Checks of learning rate schedules, and the conversion of a schedule to a list: a value per step, constant in each
// epoch.
#pragma once
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/math/libm.hpp>

namespace tenon::inline TENON_ABI::nn::detail {

/// Throws ValueError unless `value` is finite and above 0.
inline void check_above_zero(std::string_view schedule, std::string_view name, double value) {
  if (!(value > 0 && tenon::detail::libm::finite(value)))
    throw_error<ValueError>(schedule, ": ", name, " must be a finite number above 0, got ", value, ".");
}
/// Throws ValueError unless `value` is finite and 0 or more.
inline void check_from_zero(std::string_view schedule, std::string_view name, double value) {
  if (!(value >= 0 && tenon::detail::libm::finite(value)))
    throw_error<ValueError>(schedule, ": ", name, " must be a finite number, 0 or more, got ", value, ".");
}
/// Throws ValueError for a count below 1.
inline void check_count(std::string_view schedule, std::string_view name, long value) {
  if (value < 1) throw_error<ValueError>(schedule, ": ", name, " must be 1 or more, got ", value, ".");
}

/// The values of `schedule.at(epoch)` for this many steps.
template <class Schedule>
std::vector<double> each_epoch(std::string_view function, const Schedule& schedule, long total_step,
                               long step_per_epoch) {
  check_count(function, "total_step", total_step);
  check_count(function, "step_per_epoch", step_per_epoch);
  std::vector<double> values;
  for (long step = 0; step < total_step; ++step) values.push_back(schedule.at(double(step / step_per_epoch)));
  return values;
}

}  // namespace tenon::nn::detail
