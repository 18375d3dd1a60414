// What one core can do at this moment, for benchmarks/compare.py: "fma", independent multiply-adds in registers, and
// "l2", "l3", "memory", reading a stream that fits there. `check` answers the operations or the bytes of one call.
#include <memory>

#include "serve.hpp"

namespace {
namespace probe = tenon::debug::detail;
constexpr int fma_rounds = 20'000;

double seconds_of_fma(long calls) {
  const double start = tenon::detail::now();
  probe::add_products(calls * fma_rounds);
  return tenon::detail::now() - start;
}

/// Fixed sizes, since sysconf says of caches what it likes inside a virtual machine: well inside a second-level cache,
/// beyond it and well inside a third, beyond both.
std::size_t stream_bytes(const std::string& name) {
  constexpr std::size_t kib = 1024, mib = 1024 * kib;
  return name == "l2" ? 256 * kib : name == "l3" ? 8 * mib : 128 * mib;
}

benchmark::Work make(const std::string& name) {
  if (name == "fma")
    return {[] { return std::vector<double>{2.0 * probe::peak_sums * probe::PeakVector::width * fma_rounds}; },
            seconds_of_fma};
  if (name != "l2" && name != "l3" && name != "memory") throw tenon::ValueError("no probe " + name);
  struct alignas(64) Line {
    float number[16];
  };
  const std::size_t bytes = stream_bytes(name);
  const std::shared_ptr<Line[]> memory(new Line[bytes / sizeof(Line)]());
  return {[=] { return std::vector<double>{double(bytes)}; },
          [=](long calls) {
            const double start = tenon::detail::now();
            probe::read_all(memory[0].number, bytes / sizeof(float), calls);
            return tenon::detail::now() - start;
          }};
}
}  // namespace

int main() {
  benchmark::serve([](const std::string& name, const std::string&) { return make(name); });
}
