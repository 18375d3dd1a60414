// What an evaluation returns: a number per metric.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/growing.hpp>

namespace tenon::inline TENON_ABI {

/// Results of an evaluation by metric name: `result["accuracy"]`.
class EvalResult {
 public:
  /// Throws KeyError with the names of all metrics.
  double operator[](std::string_view name) const;
  double operator[](std::nullptr_t) const = delete;  // result[0]: metrics have names
  /// The result of that name, or null.
  const double* find(std::string_view name) const;
  /// Throws ValueError for a name that is there already.
  void add(std::string_view name, double value);
  /// Pairs of name and value.
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  detail::Growing<std::pair<std::string, double>> values_;
};

#if TENON_DEFINES
[[gnu::cold]] TENON_INLINE void EvalResult::add(std::string_view name, double value) {
  if (find(name))
    throw_error<ValueError>("Two metrics of the model have the name '", name, "': give each its own name.");
  values_.push_back({std::string(name), value});
}
TENON_INLINE const double* EvalResult::find(std::string_view name) const {
  for (const auto& [known, value] : values_)
    if (known == name) return &value;
  return nullptr;
}
[[gnu::cold]] TENON_INLINE double EvalResult::operator[](std::string_view name) const {
  if (const double* found = find(name)) return *found;
  std::vector<std::string> names;
  for (const auto& [known, value] : values_) names.push_back(std::string(known));
  throw_error<KeyError>("There is no metric '", name, "', the model has ", quoted_list(names), ".",
                        did_you_mean(name, names));
}
#endif  // TENON_DEFINES

}  // namespace tenon
