// Who has the most memory, for errors that say that there is no more.
#pragma once
#include <string>

#include <tenon/graph/ir/node.hpp>
#include <tenon/graph/ir/structure.hpp>
#if TENON_DEFINES
#include <tenon/core/tensor/list.hpp>
#include <tenon/graph/ir/builder.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// The five largest among what it is told of.
class MemoryOwners {
 public:
  /// Whether this many bytes are among the largest so far. `key`: of two with the same one the larger counts.
  [[gnu::cold]] bool wants(double bytes, const void* key) const;
  /// Adds what wants() has taken: "parameter fc.weight float32 [10,84]".
  [[gnu::cold]] void add(double bytes, const void* key, std::string text);
  /// Adds the parameters of a network.
  [[gnu::cold]] void add_parameters(const Entry* entries, int count);
  /// " The largest owners are ...", "" if there are none.
  [[gnu::cold]] std::string sentence() const;

 private:
  static constexpr int most = 5;
  struct One {
    double bytes = 0;
    const void* key = nullptr;
    std::string text{};
  };
  One one_[most];
};

/// "network.conv1", of a cell.
[[gnu::cold]] std::string cell_path(const Entry* entries, int entry);
/// " (net.cpp:12)", "" for line 0.
[[gnu::cold]] std::string place_text(const Location& at);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE bool MemoryOwners::wants(double bytes, const void* key) const {
  for (const One& one : one_)
    if (one.key == key) return bytes > one.bytes;
  return bytes > one_[most - 1].bytes;
}
[[gnu::noinline]] TENON_INLINE void MemoryOwners::add(double bytes, const void* key, std::string text) {
  int at = 0;
  while (at < most - 1 && one_[at].key != key) ++at;  // gives its place up, else the smallest
  for (; at > 0 && one_[at - 1].bytes < bytes; --at) one_[at] = std::move(one_[at - 1]);
  one_[at] = {bytes, key, std::move(text)};
}
[[gnu::noinline]] TENON_INLINE void MemoryOwners::add_parameters(const Entry* entries, int count) {
  for (int e = 0; e < count; ++e)
    if (const double bytes = double(entries[e].dims.bytes(1)); entries[e].parameter && wants(bytes, &entries[e]))
      add(bytes, &entries[e], text("parameter ", parameter_name(entries, e), " ", type_text(entries[e].dims)));
}
[[gnu::noinline]] TENON_INLINE std::string MemoryOwners::sentence() const {
  std::string all;
  for (const One& one : one_)
    if (one.bytes > 0) all += text(all.empty() ? " Largest owners: " : "; ", memory_text(one.bytes), " ", one.text);
  return all.empty() ? all : text(all, ".");
}

[[gnu::noinline]] TENON_INLINE std::string cell_path(const Entry* entries, int entry) {
  Sentence s;
  write_path(s, entries, entry, ".", true);
  return std::string(s.view());
}
[[gnu::noinline]] TENON_INLINE std::string place_text(const Location& at) {
  Sentence s;
  Builder::write_place(s, at);
  return std::string(s.view());
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
