// set_dump: the cells of a dump with dump_mode 2.
#pragma once
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/observe/watcher.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {
/// A cell's address, and its type: a cell and its first member have one address.
using MarkedCell = std::pair<const void*, std::uint64_t>;
struct MarkedCells {
  std::mutex mutex;
  std::vector<MarkedCell> all;
};
[[gnu::cold]] inline MarkedCells& marked_cells() {
  static auto* const cells = new MarkedCells;  // a dump may outlive statics
  return *cells;
}
[[gnu::cold]] inline void mark_cell(const MarkedCell& cell, bool marked) {
  const std::lock_guard lock(marked_cells().mutex);
  std::erase(marked_cells().all, cell);
  if (marked) marked_cells().all.push_back(cell);
}
/// "/network-Net/conv1-Conv2d" as it stands in names of operations.
[[gnu::cold]] inline std::string scope_of(const Entry* entry, int i) {
  std::string scope = entry[i].parent >= 0 ? scope_of(entry, entry[i].parent) : std::string();
  scope += '/';
  scope += entry[i].index >= 0 ? std::to_string(entry[i].index) : std::string(entry[i].name);
  if (get_context().reserve_class_name_in_scope) scope += text("-", entry[i].class_name);
  return scope;
}
}  // namespace detail

/// Adds the operators in a cell of a network to a dump with dump_mode 2: `set_dump(net.conv1)`. Takes effect at the
/// next step; do not move the network. Source: MindSpore's set_dump.
template <AnyCell C>
void set_dump(const C& cell, bool enabled = true) {
  detail::mark_cell({&cell, type_number<C>}, enabled);
}

/// What the names of operations in marked cells of a network have in them: "/network-Net/conv1-Conv2d/".
[[gnu::cold]] inline std::vector<std::string> marked_scopes(const NetworkParts& parts) {
  detail::MarkedCells& marked = detail::marked_cells();
  const std::lock_guard lock(marked.mutex);
  std::vector<std::string> scopes;
  for (int i = 0; i < parts.count; ++i) {
    const detail::MarkedCell here(parts.address(i), parts.entry[i].type);
    if (std::find(marked.all.begin(), marked.all.end(), here) != marked.all.end())
      scopes.push_back(detail::scope_of(parts.entry, i) + "/");
  }
  return scopes;
}

}  // namespace tenon::debug
