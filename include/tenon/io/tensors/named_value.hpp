// Numbers and texts with names that are saved beside parameters: the epoch, the name of an experiment.
#pragma once
#include <cstdint>
#include <string>
#include <variant>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::io {

/// `NamedValue{"epoch_num", 3}`, `{"lr", 0.125}`, `{"flag", true}`, `{"note", "first try"}`.
struct NamedValue {
  std::string name;
  std::variant<std::int64_t, double, bool, std::string> value{};
};

/// "3", "0.125", "true", "first try".
inline std::string text_of(const NamedValue& named) {
  if (const bool* const flag = std::get_if<bool>(&named.value)) return *flag ? "true" : "false";
  return std::visit([](const auto& value) { return text(value); }, named.value);
}

}  // namespace tenon::io
