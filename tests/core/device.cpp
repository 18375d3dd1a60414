// Where a tensor is.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/core/device.hpp>

using namespace tenon;

TEST_CASE("a device is its kind and its number; the first CPU by default") {
  static_assert(Device{} == Device{DeviceKind::cpu, 0});
  static_assert(!(Device{DeviceKind::gpu, 0} == Device{DeviceKind::gpu, 1}) &&
                !(Device{DeviceKind::gpu, 0} == Device{}));
  CHECK(name(DeviceKind::cpu) == "CPU");
  CHECK(name(DeviceKind::gpu) == "GPU");
}
