// How operations and numbers are written where people read them.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include <tenon/core/float/real_text.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/debug/profiler/peak.hpp>
#include <tenon/debug/profiler/profile.hpp>

namespace tenon::inline TENON_ABI::debug::detail {

/// A number with some digits after the point.
inline std::string fixed(double value, int digits) { return tenon::detail::in_fixed_digits(value, digits); }
/// 1234567 as "1,234,567".
inline std::string grouped(double value) {
  const std::string digits = fixed(value, 0);
  std::string all;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) all += ',';
    all += digits[i];
  }
  return all;
}
/// With three digits at least, and no more after the point than are needed for that.
inline std::string three_digits(double value) {
  return value >= 1000 ? grouped(value) : fixed(value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
inline std::string left(std::string_view text, std::size_t width) {
  std::string padded(text.substr(0, width));
  padded.resize(width, ' ');
  return padded;
}
inline std::string right(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

/// The last part of a path.
inline std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// "conv1" of "Default/network-LeNet/conv1-Conv2d/Conv2D-op0", "" of an operation of the network itself, "loss" of one
/// of the loss, "conv1.weight" of one of the optimizer.
inline std::string cell_within_network(std::string_view name) {
  name = name.substr(0, name.size() - last_part(name).size());
  std::string path;
  for (std::size_t end; (end = name.find('/')) != name.npos; name.remove_prefix(end + 1)) {
    const std::string_view part = name.substr(0, end);
    const bool is_root = part == "Default" || part == "Gradients" || part == "optimizer" || part == "network" ||
                         part.starts_with("network-");
    if (is_root || part.starts_with("Grad_") || part.starts_with("Sum_")) continue;
    if (!path.empty()) path += '.';
    path += part.substr(0, part.find('-'));
  }
  return path;
}
/// "Conv2D", and "ReLU-op2" of the third one in its cell.
inline std::string_view own_name(std::string_view name) {
  const std::string_view own = last_part(name);
  return own.ends_with("-op0") ? own.substr(0, own.size() - 4) : own;
}
inline std::string place_text(const Location& location, bool whole_path) {
  if (location.line == 0) return {};
  const std::string_view file(location.file);
  return text(whole_path ? file : last_part(file), ":", location.line);
}
inline std::string type_text(const TensorType& type, long n) {
  const AnyTensor view(type, n, nullptr);
  return text(tenon::name(type.dtype), shape_text(view.shape()));
}

inline std::string_view what_runs(StepKind kind) {
  return kind == StepKind::train     ? "training"
         : kind == StepKind::eval    ? "evaluation"
         : kind == StepKind::predict ? "prediction"
                                     : "calls";
}
inline std::string group_name(const StepProfile& group) {
  return group.network.empty() ? "outside of steps" : text(group.network, ", ", what_runs(group.kind));
}

/// Whether the operator says how many floating-point operations it has.
inline bool counts_flops([[maybe_unused]] const Operation& operation) {
#if defined(TENON_OBSERVE)
  return operation.op->flops != nullptr;
#else
  return false;
#endif
}

/// What a thread needs of the bytes of one run, in the mean.
template <class Sum>
double bytes_of_thread(const Sum& sum, int threads) {
  return sum.bytes / std::max(double(sum.alone) + double(sum.runs - sum.alone) * threads, 1.);
}

/// How near some operations come to what this machine can do: to its multiply-adds (flops_rate is 0 if nothing has
/// counted them), or to the speed of the fastest memory that holds what a thread needs for one of them, whichever is
/// nearer. `of` is "" where neither can be said.
struct PeakShare {
  double share = 0;
  const char* of = "";
};
inline PeakShare peak_share(const PeakRates& peak, int threads, bool is_double, double flops_rate, double bytes_rate,
                            double bytes_of_thread) {
  const double most = peak.flops * threads * (is_double ? 0.5 : 1);
  const MemoryLevel& level = peak.level_for(bytes_of_thread);
  const PeakShare compute{flops_rate / most, "FMA"}, memory{bytes_rate / (level.rate * threads), level.name};
  constexpr double possible = 1.25;  // what is far above the peak has not touched all of its operands
  if (memory.share <= possible) return compute.share >= memory.share ? compute : memory;
  return flops_rate > 0 ? compute : PeakShare{};
}

}  // namespace tenon::debug::detail
