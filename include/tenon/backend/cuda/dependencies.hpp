// Which calls of a step must wait for which: others may run side by side.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Memory that a call uses.
struct Access {
  std::uintptr_t begin, end;
  bool written;

  bool conflicts(const Access& other) const {
    return (written || other.written) && begin < other.end && other.begin < end;
  }
};

/// Of each call of a step those before it that it waits for, directly or because others do.
class Dependencies {
 public:
  template <class Step, class Launch>
  Dependencies(const Step& step, const std::vector<Launch>& launches) {
    const int count = int(launches.size());
    std::vector<std::vector<Access>> accesses(launches.size());
    for (int i = 0; i < count; ++i) {
      step.each_access(launches[std::size_t(i)], [&](const void* address, long bytes, bool written) {
        const auto begin = reinterpret_cast<std::uintptr_t>(address);
        accesses[std::size_t(i)].push_back({begin, begin + std::uintptr_t(bytes), written});
      });
      std::vector<bool> before(launches.size());
      std::vector<int> direct;
      for (int j = i; j-- > 0;)
        if (!before[std::size_t(j)] && conflict(accesses[std::size_t(i)], accesses[std::size_t(j)])) {
          direct.push_back(j);
          before[std::size_t(j)] = true;
          for (int k = 0; k < j; ++k)
            if (waits_for(j, k)) before[std::size_t(k)] = true;
        }
      direct_.push_back(std::move(direct));
      before_.push_back(std::move(before));
    }
  }
  /// The calls that call i waits for directly, the last one first.
  const std::vector<int>& of(int i) const { return direct_[std::size_t(i)]; }
  /// Whether call i waits for call j.
  bool waits_for(int i, int j) const { return before_[std::size_t(i)][std::size_t(j)]; }

 private:
  static bool conflict(const std::vector<Access>& a, const std::vector<Access>& b) {
    for (const Access& x : a)
      for (const Access& y : b)
        if (x.conflicts(y)) return true;
    return false;
  }

  std::vector<std::vector<int>> direct_;
  std::vector<std::vector<bool>> before_;
};

}  // namespace tenon::kernel::cuda
