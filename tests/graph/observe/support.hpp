// Observers that tests use: of names and values, and of times.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

namespace support {

/// A hash of a value's elements.
inline std::uint64_t hash_of(const tenon::AnyTensor& value) {
  return tenon::hash_bytes(static_cast<const char*>(value.data), value.bytes(), std::uint64_t(value.rank));
}

/// The operations in their order, with their values.
struct Values {
  static constexpr bool every_value = true;
  struct Seen {
    std::string name, place;
    tenon::StepPart part;
    int steps;
    std::vector<std::uint64_t> operands, results;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen;
  long before_count = 0;
  void before(const tenon::Operation&) { ++before_count; }
  void after(const tenon::Operation& operation, std::span<const tenon::AnyTensor> operands,
             std::span<const tenon::AnyTensor> results) {
    Seen one;
    one.name = operation.name;
    one.place = tenon::text(operation.location.file, ":", operation.location.line);
    one.part = operation.part;
    one.steps = operation.steps;
    for (const tenon::AnyTensor& value : operands) one.operands.push_back(hash_of(value));
    for (const tenon::AnyTensor& value : results) one.results.push_back(hash_of(value));
    seen.push_back(std::move(one));
  }
};

/// The same of the step as it runs.
struct ValuesAsTheyAre : Values {
  static constexpr bool every_value = false;
};

/// Seconds per operation, from before() to after().
struct Times {
  using Clock = std::chrono::steady_clock;
  struct Sum {
    long calls = 0;
    double seconds = 0, flops = 0;
  };
  std::map<std::string_view, Sum> of;
  Clock::time_point start;
  void before(const tenon::Operation&) { start = Clock::now(); }
  void after(const tenon::Operation& operation) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    Sum& sum = of[operation.name];
    ++sum.calls;
    sum.seconds += seconds;
    sum.flops += operation.flops();
  }
  double total() const {
    double sum = 0;
    for (const auto& [name, one] : of) sum += one.seconds;
    return sum;
  }
};

}  // namespace support
