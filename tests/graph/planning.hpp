// A plan, looked at from outside: when each buffer is read and written, worked out without the library's lifetimes.
#pragma once
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/lift.hpp>

#include "maker.hpp"

namespace graph_test {

/// One buffer of a region: its place, and the first and last moment (node number) at which it must be kept.
struct LiveBuffer {
  int node;
  long offset, bytes;
  int born, last;
};

/// The node whose memory a node's value is in, found by walking back.
template <int N>
int memory_of(const Graph<N>& graph, int id) {
  while (graph[id].op->view || graph[id].op->effect) id = graph[id].operand[0];
  return id;
}

/// All buffers of scratch memory where they are for a batch of n, as numbers from its begin.
template <int N>
std::vector<LiveBuffer> live_buffers(const Graph<N>& graph, const Plan<N>& plan, long n);

/// The buffers of a region (sample: per sample). Written where computed; kept until the last node that reads or changes
/// it, to the end of the step if it is an output.
template <int N>
std::vector<LiveBuffer> live_buffers(const Graph<N>& graph, const Place* place, Region region) {
  std::vector<LiveBuffer> buffers;
  for (int id = 0; id < graph.count; ++id) {
    const Node& node = graph[id];
    const bool batched = node.type.rank > 0 && node.type.extent[0] < 0;
    if (node.op->leaf || memory_of(graph, id) != id || batched != (region == Region::sample)) continue;
    LiveBuffer b{id, place ? place[id].offset : 0, (node.type.bytes(1) + 63) / 64 * 64, id, id};
    for (int user = id + 1; user < graph.count; ++user)
      for (int k = 0; k < graph[user].operands; ++k)
        if (memory_of(graph, graph[user].operand[k]) == id) b.last = user;
    for (int k = 0; k < graph.outputs; ++k)
      if (memory_of(graph, graph.output[k]) == id) b.last = graph.count;
    buffers.push_back(b);
  }
  return buffers;
}

/// Bytes alive at the worst moment.
template <int N>
long independent_bound(const Graph<N>& graph, Region region) {
  const auto buffers = live_buffers(graph, nullptr, region);
  long worst = 0;
  for (int moment = 0; moment < graph.count; ++moment) {
    long live = 0;
    for (const LiveBuffer& b : buffers) live += b.born <= moment && moment <= b.last ? b.bytes : 0;
    worst = live > worst ? live : worst;
  }
  return worst;
}

/// "" or a sentence about two buffers that share memory while both are alive, or about one outside of the region.
template <int N>
std::string overlap(const Graph<N>& graph, const Plan<N>& plan, Region region) {
  const auto buffers = live_buffers(graph, plan.at, region);
  for (const LiveBuffer& a : buffers) {
    if (plan.at[a.node].region != region || a.offset < 0 || a.offset % 64 || a.offset + a.bytes > plan.size[int(region)])
      return text("node ", a.node, " is outside of its region");
    for (const LiveBuffer& b : buffers)
      if (a.node < b.node && a.born <= b.last && b.born <= a.last && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
        return text("nodes ", a.node, " and ", b.node, " share memory");
  }
  return "";
}

template <int N>
std::vector<LiveBuffer> live_buffers(const Graph<N>& graph, const Plan<N>& plan, long n) {
  std::vector<LiveBuffer> all;
  for (Region region : {Region::sample, Region::fixed})
    for (LiveBuffer b : live_buffers(graph, plan.at, region)) {
      if (region == Region::sample) b.offset = plan.floor + b.offset * n, b.bytes *= n;
      else b.offset += plan.at[b.node].lift * n;
      all.push_back(b);
    }
  return all;
}

/// "" or a sentence about two buffers, of any region, that share memory for a batch of n, or about one outside of it.
template <int N>
std::string overlap(const Graph<N>& graph, const Plan<N>& plan, long n) {
  const auto buffers = live_buffers(graph, plan, n);
  for (const LiveBuffer& a : buffers) {
    if (a.offset < 0 || a.offset % 64 || a.offset + a.bytes > plan.bytes(n)) return text("node ", a.node, " is outside of the scratch memory");
    for (const LiveBuffer& b : buffers)
      if (a.node < b.node && a.born <= b.last && b.born <= a.last && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
        return text("nodes ", a.node, " and ", b.node, " share memory for a batch of ", n);
  }
  return "";
}

/// Bytes alive at the worst moment for a batch of n, both regions together.
template <int N>
long independent_bound(const Graph<N>& graph, long n) {
  long worst = 0;
  const auto samples = live_buffers(graph, nullptr, Region::sample), fixed = live_buffers(graph, nullptr, Region::fixed);
  for (int moment = 0; moment < graph.count; ++moment) {
    long live = 0;
    for (const LiveBuffer& b : samples) live += b.born <= moment && moment <= b.last ? b.bytes * n : 0;
    for (const LiveBuffer& b : fixed) live += b.born <= moment && moment <= b.last ? b.bytes : 0;
    worst = live > worst ? live : worst;
  }
  return worst;
}

}  // namespace graph_test
