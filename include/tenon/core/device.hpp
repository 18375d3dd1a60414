// Where the bytes of a tensor are.
#pragma once
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

enum class DeviceKind : unsigned char { cpu, gpu };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  unsigned char id = 0;
  constexpr bool operator==(const Device&) const = default;
};

constexpr std::string_view name(DeviceKind kind) { return kind == DeviceKind::cpu ? "CPU" : "GPU"; }

}  // namespace tenon
