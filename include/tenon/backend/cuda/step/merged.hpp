// The works of a step: its calls, those of the same kind that do not wait for each other as one work.
#pragma once
#include <algorithm>
#include <iterator>

#include <tenon/backend/cuda/runtime.hpp>
#include <tenon/backend/cuda/step/dependencies.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// A call, or several that are parts of one launch.
struct Work {
  std::vector<int> calls;
  void (*start)(const void* parts, long count) = nullptr;  // null: the call itself
  const std::int32_t* unless = nullptr;
  std::vector<std::byte> parts{};
};

/// Calls join a work of their kind as long as no other call has to run between: a work is complete when a call comes
/// that waits for a part of it. So each work comes after all for which it waits.
class Works {
 public:
  /// see(i) looks at call i (Running::seen).
  template <class Launch, class See>
  Works(const Order& calls, const std::vector<Launch>& launches, See see) {
    std::vector<Work> open;
    const auto complete = [&](auto works) {
      std::move(works, open.end(), std::back_inserter(works_));
      open.erase(works, open.end());
    };
    for (int i = 0; i < int(launches.size()); ++i) {
      complete(std::stable_partition(open.begin(), open.end(), [&](const Work& work) {
        return std::none_of(work.calls.begin(), work.calls.end(), [&](int part) { return calls.waits_for(i, part); });
      }));
      const SeenCall seen = see(i);
      if (!seen.start || seen.kernels != 1) {
        works_.push_back({{i}});
        continue;
      }
      const std::int32_t* const unless = launches[std::size_t(i)].unless;
      auto own = std::find_if(open.begin(), open.end(),
                              [&](const Work& work) { return work.start == seen.start && work.unless == unless; });
      if (own == open.end()) own = open.insert(own, {{}, seen.start, unless});
      own->calls.push_back(i);
      own->parts.insert(own->parts.end(), seen.part.begin(), seen.part.end());
    }
    complete(open.begin());
    order_ = Order(int(works_.size()), [&](int i, int j) {
      for (const int one : works_[std::size_t(i)].calls)
        for (const int other : works_[std::size_t(j)].calls)
          if (calls.waits_for(one, other)) return true;
      return false;
    });
  }
  int count() const { return int(works_.size()); }
  const Work& operator[](int i) const { return works_[std::size_t(i)]; }
  const Order& order() const { return order_; }

 private:
  std::vector<Work> works_;
  Order order_;
};

}  // namespace tenon::kernel::cuda
