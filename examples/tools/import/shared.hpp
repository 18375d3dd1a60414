// Parameters that several modules read: they belong to the module around these.
#pragma once
#include "graph.hpp"

namespace importer {

/// The path of the module around two, which is none of a list: "net.layers.0.norm" and "net.layers.1": "net".
inline std::string path_around(const std::string& a, const std::string& b) {
  std::size_t end = 0;
  for (std::size_t k = 0; k <= std::min(a.size(), b.size()); ++k) {
    const bool is_part_of_a = k == a.size() || a[k] == '.', is_part_of_b = k == b.size() || b[k] == '.';
    if (is_part_of_a && is_part_of_b) end = k;
    if (k == a.size() || k == b.size() || a[k] != b[k]) break;
  }
  const auto is_member_of_list = [&](const std::string& path) {
    return end + 1 < path.size() && end > 0 && std::isdigit(static_cast<unsigned char>(path[end + 1]));
  };
  const bool is_list = is_member_of_list(a) || is_member_of_list(b);
  const std::string around = a.substr(0, end);
  if (!is_list) return around;
  const std::size_t dot = around.rfind('.');
  return dot == around.npos ? "" : around.substr(0, dot);
}
inline bool is_within(const std::string& path, const std::string& around) {
  return around.empty() || path == around || path.starts_with(around + ".");
}
/// Moves the parameters that several modules read before the first call of the module around them.
inline void move_shared_parameters(Graph& g) {
  std::vector<std::vector<std::size_t>> before(g.calls.size() + 1);
  std::set<std::size_t> moved;
  for (std::size_t k = 0; k < g.calls.size(); ++k) {
    Call& parameter = g.calls[k];
    if (parameter.code != "@" || !parameter.member || parameter.is_dropped || parameter.is_inner) continue;
    std::string around = parameter.scope;
    bool is_inner = false;
    for (const Call& call : g.calls) {
      if (call.is_dropped ||
          std::find(call.inputs.begin(), call.inputs.end(), parameter.outputs[0]) == call.inputs.end())
        continue;
      is_inner = is_inner || call.is_inner;
      if (call.scope != parameter.scope) around = path_around(around, call.scope);
    }
    if (around == parameter.scope || is_inner) continue;
    std::size_t first = 0;
    while (!is_within(g.calls[first].scope, around)) ++first;
    parameter.scope = around;
    before[std::min(first, k)].push_back(k), moved.insert(k);
  }
  if (moved.empty()) return;
  std::vector<Call> calls;
  std::vector<int> place(g.calls.size());
  const auto put = [&](std::size_t k) {
    place[k] = int(calls.size());
    calls.push_back(std::move(g.calls[k]));
  };
  for (std::size_t k = 0; k < g.calls.size(); ++k) {
    for (const std::size_t each : before[k]) put(each);
    if (!moved.count(k)) put(k);
  }
  g.calls = std::move(calls);
  for (Value& v : g.values)
    if (v.call >= 0) v.call = place[std::size_t(v.call)];
  for (Call& call : g.calls)
    for (Lambda& l : call.lambdas)
      for (int& each : l.calls) each = place[std::size_t(each)];
}

}  // namespace importer
