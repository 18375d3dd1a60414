// A plan, looked at from outside: when each buffer is read and written, worked out without the library's lifetimes.
#pragma once
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/plan/lift.hpp>

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

/// How many operands a node reads. A further result of a call is written by that call, and reads nothing.
template <int N>
int reads_of(const Graph<N>& graph, int id) {
  return graph[id].op->part ? 0 : graph[id].operands;
}

/// memory_of() for all nodes, where results may stand in the place of an operand: of the first one of their type
/// that no later node reads, and that is no output.
template <int N>
std::vector<int> memories(const Graph<N>& graph, bool in_place) {
  std::vector<int> memory(std::size_t(graph.count));
  const auto of = [&](int id) -> int& { return memory[std::size_t(id)]; };
  for (int id = 0; id < graph.count; ++id) of(id) = memory_of(graph, id);
  const auto is_read_behind = [&](int where, int id) {
    for (int user = id + 1; user < graph.count; ++user)
      for (int k = 0; k < reads_of(graph, user); ++k)
        if (of(graph[user].operand[k]) == where) return true;
    for (int k = 0; k < graph.outputs; ++k)
      if (of(graph.output[k]) == where) return true;
    return false;
  };
  for (int id = 0; in_place && id < graph.count; ++id)
    for (int k = 0; graph[id].op->kernel.in_place && k < graph[id].operands; ++k) {
      const int where = of(graph[id].operand[k]);
      if (graph[where].op->leaf || !(graph[graph[id].operand[k]].type == graph[id].type) || is_read_behind(where, id))
        continue;
      for (int& m : memory) m = m == id ? where : m;
      break;
    }
  return memory;
}

/// The last moment at which a read by node `user` may happen: in a group there are reads for every tile.
template <int N>
int end_of_group(const Graph<N>& graph, const TiledGroups<N>& groups, int user) {
  while (groups.of[user] && user + 1 < graph.count && groups.of[user + 1] == groups.of[user]) ++user;
  return user;
}

/// The buffers of a region (sample and tile: per sample). Written where computed; kept until the last node that reads
/// or changes it, to the end of the step if it is an output. In a group all is computed and read again and again from
/// its begin to its end, but what no node outside of it reads is of one tile.
template <int N>
std::vector<LiveBuffer> live_buffers(const Graph<N>& graph, const BufferPlace* place, Region region,
                                     const TiledGroups<N>& groups = {}, bool in_place = false) {
  std::vector<LiveBuffer> buffers;
  const std::vector<int> memory = memories(graph, in_place);
  for (int id = 0; id < graph.count; ++id) {
    const Node& node = graph[id];
    const bool batched = node.type.rank > 0 && node.type.extent[0] < 0;
    if (node.op->leaf || memory[std::size_t(id)] != id || batched != (region != Region::fixed)) continue;
    const int maker = node.op->part ? node.operand[0] : id;
    LiveBuffer b{id, place ? place[id].offset : 0, (node.type.bytes(1) + 63) / 64 * 64, maker, id};
    bool one_tile = batched && groups.of[maker] != 0;
    for (int user = id + 1; user < graph.count; ++user)
      for (int k = 0; k < reads_of(graph, user); ++k)
        if (memory[std::size_t(graph[user].operand[k])] == id)
          b.last = user, one_tile &= groups.of[user] == groups.of[maker];
    for (int k = 0; k < graph.outputs; ++k)
      if (memory[std::size_t(graph.output[k])] == id) b.last = graph.count, one_tile = false;
    if (one_tile != (region == Region::tile)) continue;
    if (!one_tile) {
      while (groups.of[b.born] && b.born > 0 && groups.of[b.born - 1] == groups.of[b.born]) --b.born;
      if (b.last < graph.count) b.last = end_of_group(graph, groups, b.last);
    }
    buffers.push_back(b);
  }
  return buffers;
}

/// Bytes alive at the worst moment.
template <int N>
long independent_bound(const Graph<N>& graph, Region region, const TiledGroups<N>& groups = {}, bool in_place = false) {
  const auto buffers = live_buffers(graph, nullptr, region, groups, in_place);
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
std::string overlap(const Graph<N>& graph, const Plan<N>& plan, Region region, const TiledGroups<N>& groups = {},
                    bool in_place = false) {
  const auto buffers = live_buffers(graph, plan.at, region, groups, in_place);
  for (const LiveBuffer& a : buffers) {
    if (plan.at[a.node].region != region || a.offset < 0 || a.offset % 64 ||
        a.offset + a.bytes > plan.size[int(region)])
      return text("node ", a.node, " is outside of its region");
    for (const LiveBuffer& b : buffers)
      if (a.node < b.node && a.born <= b.last && b.born <= a.last && a.offset < b.offset + b.bytes &&
          b.offset < a.offset + a.bytes)
        return text("nodes ", a.node, " and ", b.node, " share memory");
  }
  return "";
}

/// All buffers of scratch memory where they are for a batch of n, as numbers from its begin; those of a tile behind
/// the others.
template <int N>
std::vector<LiveBuffer> live_buffers(const Graph<N>& graph, const Plan<N>& plan, long n, const TiledGroups<N>& groups,
                                     bool in_place) {
  std::vector<LiveBuffer> all;
  const long tile = n < 16 ? n : 16;
  for (Region region : {Region::sample, Region::fixed, Region::tile})
    for (LiveBuffer b : live_buffers(graph, plan.at, region, groups, in_place)) {
      if (region == Region::sample) b.offset = plan.floor + b.offset * n, b.bytes *= n;
      else if (region == Region::fixed) b.offset += plan.at[b.node].lift * n;
      else b.offset = plan.bytes(n) - plan.size[int(Region::tile)] * tile + b.offset * tile, b.bytes *= tile;
      all.push_back(b);
    }
  return all;
}

/// "" or a sentence about two buffers, of any region, that share memory for a batch of n, or about one outside of it.
template <int N>
std::string overlap(const Graph<N>& graph, const Plan<N>& plan, long n, const TiledGroups<N>& groups = {},
                    bool in_place = false) {
  const auto buffers = live_buffers(graph, plan, n, groups, in_place);
  for (const LiveBuffer& a : buffers) {
    if (a.offset < 0 || a.offset % 64 || a.offset + a.bytes > plan.bytes(n))
      return text("node ", a.node, " is outside of the scratch memory");
    for (const LiveBuffer& b : buffers)
      if (a.node < b.node && a.born <= b.last && b.born <= a.last && a.offset < b.offset + b.bytes &&
          b.offset < a.offset + a.bytes)
        return text("nodes ", a.node, " and ", b.node, " share memory for a batch of ", n);
  }
  return "";
}

/// Bytes alive at the worst moment for a batch of n, all regions together.
template <int N>
long independent_bound(const Graph<N>& graph, long n, const TiledGroups<N>& groups = {}, bool in_place = false) {
  long worst = 0;
  const auto samples = live_buffers(graph, nullptr, Region::sample, groups, in_place),
             fixed = live_buffers(graph, nullptr, Region::fixed, groups, in_place),
             tile = live_buffers(graph, nullptr, Region::tile, groups, in_place);
  for (int moment = 0; moment < graph.count; ++moment) {
    long live = 0;
    for (const LiveBuffer& b : samples) live += b.born <= moment && moment <= b.last ? b.bytes * n : 0;
    for (const LiveBuffer& b : fixed) live += b.born <= moment && moment <= b.last ? b.bytes : 0;
    for (const LiveBuffer& b : tile) live += b.born <= moment && moment <= b.last ? b.bytes * (n < 16 ? n : 16) : 0;
    worst = live > worst ? live : worst;
  }
  return worst;
}

}  // namespace graph_test
