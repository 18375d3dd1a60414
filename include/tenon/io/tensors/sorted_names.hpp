// Sorts what a checkpoint holds. One sort for all that is saved and loaded, of the C library: an instance of std::sort
// costs a program 4 KB.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tenon/core/memory/growing.hpp>
#if TENON_DEFINES
#include <cstdlib>
#endif

namespace tenon::inline TENON_ABI::io {

/// What decides an order: two numbers, then a name, then the place that it had.
struct SortKey {
  std::uint64_t first = 0, second = 0;
  std::string_view name{};
  std::size_t index = 0;

  bool operator<(const SortKey& other) const {
    if (first != other.first) return first < other.first;
    if (second != other.second) return second < other.second;
    const int order = name.compare(other.name);
    return order != 0 ? order < 0 : index < other.index;
  }
};

[[gnu::cold]] void sort_keys(tenon::detail::Growing<SortKey>& keys);

/// A set of names, to be asked for one of them. The texts must live as long.
class SortedNames {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  SortedNames() = default;
  /// The names of `things`, which have a member `name` or are names.
  template <class Things>
  [[gnu::cold]] explicit SortedNames(const Things& things) {
    keys_.fill(things.size());
    std::size_t index = 0;
    for (const auto& thing : things) {
      SortKey& key = keys_[index];
      if constexpr (requires { thing.name; }) key.name = thing.name;
      else key.name = thing;
      key.index = index++;
    }
    sort_keys(keys_);
  }

  /// Which of the names this is, counted as they were given, or none.
  [[gnu::cold]] std::size_t find(std::string_view name) const;
  /// A name that is there twice, or a null pointer.
  [[gnu::cold]] const std::string_view* twice() const;

 private:
  tenon::detail::Growing<SortKey> keys_;
};

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void sort_keys(tenon::detail::Growing<SortKey>& keys) {
  if (keys.empty()) return;
  std::qsort(keys.begin(), keys.size(), sizeof(SortKey), [](const void* a, const void* b) {
    const SortKey &x = *static_cast<const SortKey*>(a), &y = *static_cast<const SortKey*>(b);
    return x < y ? -1 : y < x ? 1 : 0;
  });
}

[[gnu::noinline]] TENON_INLINE std::size_t SortedNames::find(std::string_view name) const {
  std::size_t from = 0, to = keys_.size();
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    if (keys_[middle].name < name) from = middle + 1;
    else to = middle;
  }
  return from < keys_.size() && keys_[from].name == name ? keys_[from].index : none;
}
[[gnu::noinline]] TENON_INLINE const std::string_view* SortedNames::twice() const {
  for (std::size_t i = 1; i < keys_.size(); ++i)
    if (keys_[i].name == keys_[i - 1].name) return &keys_[i].name;
  return nullptr;
}
#endif  // TENON_DEFINES

}  // namespace tenon::io
