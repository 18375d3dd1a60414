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

/// Of each of some things in a row those before it that it waits for, directly or because others do.
class Order {
 public:
  Order() = default;
  /// follows(i, j): thing i must wait for thing j, which comes before it.
  template <class Follows>
  Order(int count, Follows follows) {
    for (int i = 0; i < count; ++i) {
      std::vector<bool> before(static_cast<std::size_t>(count));
      std::vector<int> direct;
      for (int j = i; j-- > 0;)
        if (!before[std::size_t(j)] && follows(i, j)) {
          direct.push_back(j);
          before[std::size_t(j)] = true;
          for (int k = 0; k < j; ++k)
            if (waits_for(j, k)) before[std::size_t(k)] = true;
        }
      direct_.push_back(std::move(direct));
      before_.push_back(std::move(before));
    }
  }
  /// What thing i waits for directly, the last one first.
  const std::vector<int>& of(int i) const { return direct_[std::size_t(i)]; }
  /// Whether thing i waits for thing j.
  bool waits_for(int i, int j) const { return before_[std::size_t(i)][std::size_t(j)]; }

 private:
  std::vector<std::vector<int>> direct_;
  std::vector<std::vector<bool>> before_;
};

/// The order of the calls of a step: one waits for those that write what it uses, or use what it writes.
template <class Step, class Launch>
Order order_of_calls(const Step& step, const std::vector<Launch>& launches) {
  std::vector<std::vector<Access>> accesses(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i)
    step.each_access(launches[i], [&](const void* address, long bytes, bool written) {
      const auto begin = reinterpret_cast<std::uintptr_t>(address);
      accesses[i].push_back({begin, begin + std::uintptr_t(bytes), written});
    });
  return Order(int(launches.size()), [&](int i, int j) {
    for (const Access& x : accesses[std::size_t(i)])
      for (const Access& y : accesses[std::size_t(j)])
        if (x.conflicts(y)) return true;
    return false;
  });
}

}  // namespace tenon::kernel::cuda
