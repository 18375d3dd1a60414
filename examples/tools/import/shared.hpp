// Parameters that several modules read: whose they are.
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
/// Calls with those that come before some of them.
class Rearranged {
 public:
  explicit Rearranged(Graph& graph) : g(graph), count(graph.calls.size()), before(count) {}
  Graph& g;
  std::size_t count;  // of calls at the beginning

  void move(std::size_t call, std::size_t to) { before[to].push_back(call), moved.insert(call); }
  void run() {
    if (moved.empty()) return;
    std::vector<Call> calls;
    std::vector<int> place(g.calls.size());
    const auto put = [&](std::size_t k) {
      place[k] = int(calls.size());
      calls.push_back(std::move(g.calls[k]));
    };
    for (std::size_t k = 0; k < count; ++k) {
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

 private:
  std::vector<std::vector<std::size_t>> before;
  std::set<std::size_t> moved;
};
/// The calls that read a parameter of no loop's body, if several modules do.
inline std::vector<std::size_t> readers_of(const Graph& g, std::size_t count, const Call& parameter) {
  std::vector<std::size_t> readers;
  bool has_several = false;
  if (parameter.code != "@" || !parameter.member || parameter.is_dropped || parameter.is_inner) return {};
  for (std::size_t k = 0; k < count; ++k) {
    const Call& call = g.calls[k];
    const auto& in = call.inputs;
    if (call.is_dropped || std::find(in.begin(), in.end(), parameter.outputs[0]) == in.end()) continue;
    if (call.is_inner || !call.lambdas.empty()) return {};
    readers.push_back(k);
    has_several = has_several || call.scope != parameter.scope;
  }
  return has_several ? readers : std::vector<std::size_t>();
}
/// Each module gets its own parameter: PyTorch's exporters keep equal weights once.
inline void copy_parameter(Rearranged& to, std::size_t k, const std::vector<std::size_t>& readers) {
  Graph& g = to.g;
  const int shared = g.calls[k].outputs[0];
  std::map<std::string, int> own{{g.calls[readers[0]].scope, shared}};
  g.calls[k].scope = g.calls[readers[0]].scope;
  for (const std::size_t reader : readers) {
    const std::string scope = g.calls[reader].scope;
    if (!own.count(scope)) {
      Call copy = g.calls[k];
      own[scope] = g.add_value(g[shared].name);
      Value v = g[shared];
      v.call = int(g.calls.size()), v.scope = scope;
      g[own[scope]] = v;
      copy.scope = scope, copy.outputs = {own[scope]};
      to.move(g.calls.size(), reader);
      g.calls.push_back(std::move(copy));
    }
    std::replace(g.calls[reader].inputs.begin(), g.calls[reader].inputs.end(), shared, own[scope]);
  }
}
/// Parameters that several modules read: constants become those of the module around them.
inline void settle_shared_parameters(Graph& g) {
  Rearranged to(g);
  for (std::size_t k = 0; k < to.count; ++k) {
    const auto readers = readers_of(g, to.count, g.calls[k]);
    if (readers.empty()) continue;
    const Weight& weight = g.calls[k].member->weights[0];
    const bool is_of_cell = weight.is_trained && weight.tensor.name.find('.') != std::string::npos;
    if (is_of_cell) {
      copy_parameter(to, k, readers);
      continue;
    }
    std::string around = g.calls[k].scope;
    for (const std::size_t reader : readers)
      if (g.calls[reader].scope != around) around = path_around(around, g.calls[reader].scope);
    std::size_t first = 0;
    while (!is_within(g.calls[first].scope, around)) ++first;
    g.calls[k].scope = around;
    to.move(k, std::min(first, k));
  }
  to.run();
}

}  // namespace importer
