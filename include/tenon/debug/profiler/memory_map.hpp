// MemoryMap: what is where in the scratch memory of a compiled graph, and when.
#pragma once
#include <algorithm>
#include <set>

#include <tenon/debug/profiler/timeline.hpp>
#include <tenon/lowering/program.hpp>
#include <tenon/run/graph_observer.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A value between operators, in bytes from the begin of the scratch memory. It is there from the moment `first` until
/// the moment `last`; moment i is that of instruction i.
struct BufferLife {
  std::string_view name;  // of the operation that makes it
  Region region = Region::none;
  long offset = 0, bytes = 0;
  int first = 0, last = 0;
};

/// Of a batch of n on some threads.
struct MemoryMap {
  long arena = 0;                         // bytes that a step takes
  long parameters = 0, state = 0;         // of the parameters that it reads, and of the optimizer
  std::vector<std::string_view> moments;  // the operation of each
  std::vector<long> live;                 // bytes of all values that are there at each
  std::vector<BufferLife> buffers;
  std::size_t fullest = 0;  // moment

  long peak() const { return live.empty() ? 0 : live[fullest]; }
};

namespace detail {

/// Follows the instructions of a program.
class MemoryMapper {
 public:
  MemoryMapper(const Program& program, long n, int threads)
      : program_(program),
        n_(n),
        samples_(program.samples(n)),
        threads_(threads),
        root_(std::size_t(program.nodes)),
        moment_(std::size_t(program.nodes), -1) {}

  MemoryMap map() {
    map_.arena = program_.bytes(n_, threads_);
    const Operation* const operations = tenon::detail::operations_of(program_);
    for (int i = 0; i < program_.instructions; ++i) {
      moment_[std::size_t(program_.instruction[i].node)] = i;
      map_.moments.push_back(operations[program_.instruction[i].node].name);
    }
    for (int id = 0; id < program_.nodes; ++id) root_[std::size_t(id)] = root_of(id);
    for (int id = 0; id < program_.nodes; ++id) {
      const Node& node = program_.node[id];
      const int maker = node.op->part ? node.operand[0] : id;
      moment_[std::size_t(id)] = moment_[std::size_t(maker)];
      if (root_[std::size_t(id)] == id && is_scratch(program_.place[id])) add(id, operations[maker].name);
    }
    follow_reads();
    sum_up();
    count_leaves();
    return std::move(map_);
  }

 private:
  static bool is_scratch(const BufferPlace& place) {
    return place.region == Region::sample || place.region == Region::fixed || place.region == Region::tile;
  }
  /// The node whose buffer this one's value is in.
  int root_of(int id) const {
    const Node& node = program_.node[id];
    if (node.op->leaf) return id;
    if (node.op->view || node.op->effect) return root_[std::size_t(node.operand[0])];
    const BufferPlace& own = program_.place[id];
    for (int k = 0; node.op->kernel.in_place && k < node.operands; ++k) {
      const BufferPlace& other = program_.place[node.operand[k]];
      if (own.region == other.region && own.offset == other.offset && own.lift == other.lift)
        return root_[std::size_t(node.operand[k])];
    }
    return id;
  }
  /// All instructions of a group run for each tile: the first, or the last one of them.
  int group_edge(int moment, int step) const {
    const int group = program_.instruction[moment].group;
    int edge = moment;
    while (group && edge + step >= 0 && edge + step < program_.instructions &&
           program_.instruction[edge + step].group == group)
      edge += step;
    return edge;
  }
  void add(int id, std::string_view name) {
    const int moment = moment_[std::size_t(id)];
    if (moment < 0) return;
    const BufferPlace& place = program_.place[id];
    const long bytes = tenon::detail::buffer_bytes(program_.node[id].type);
    BufferLife life{name, place.region, 0, bytes, moment, moment};
    if (place.region == Region::sample) {
      life.offset = program_.floor + place.offset * samples_;
      life.bytes = bytes * samples_;
    } else if (place.region == Region::fixed) {
      life.offset = place.offset + place.lift * samples_;
    } else {
      life.offset = program_.scratch(n_) + place.offset * tile_of(samples_);
      life.bytes = bytes * tile_of(samples_);
    }
    if (place.region != Region::tile) life.first = life.last = group_edge(moment, -1);
    at_[id] = map_.buffers.size();
    map_.buffers.push_back(life);
  }
  void follow_reads() {
    const auto reach = [&](int id, int moment) {
      const auto found = at_.find(root_[std::size_t(id)]);
      if (found == at_.end()) return;
      BufferLife& life = map_.buffers[found->second];
      life.last = std::max(life.last, life.region == Region::tile ? moment : group_edge(moment, 1));
    };
    for (int i = 0; i < program_.instructions; ++i) {
      const Node& node = program_.node[program_.instruction[i].node];
      reach(program_.instruction[i].node, i);
      for (int k = 0; k < node.operands; ++k) reach(node.operand[k], i);
    }
    for (int k = 0; k < program_.outputs && program_.instructions > 0; ++k)
      reach(program_.output[k], program_.instructions - 1);
  }
  void sum_up() {
    std::vector<long> change(std::size_t(program_.instructions) + 1, 0);
    for (const BufferLife& life : map_.buffers) {
      const long bytes = life.region == Region::tile ? life.bytes * threads_ : life.bytes;
      change[std::size_t(life.first)] += bytes;
      change[std::size_t(life.last) + 1] -= bytes;
    }
    long live = 0;
    for (int i = 0; i < program_.instructions; ++i) {
      map_.live.push_back(live += change[std::size_t(i)]);
      if (live > map_.live[map_.fullest]) map_.fullest = std::size_t(i);
    }
  }
  void count_leaves() {
    std::set<std::pair<Region, long>> seen;
    for (int id = 0; id < program_.nodes; ++id) {
      const BufferPlace& place = program_.place[id];
      if (!program_.node[id].op->leaf || !seen.emplace(place.region, place.offset).second) continue;
      if (place.region == Region::parameters) map_.parameters += program_.node[id].type.bytes(1);
      if (place.region == Region::state) map_.state += program_.node[id].type.bytes(1);
    }
  }

  const Program& program_;
  long n_, samples_;
  int threads_;
  std::vector<int> root_, moment_;
  std::unordered_map<int, std::size_t> at_;
  MemoryMap map_;
};

constexpr std::string_view name_of(Region region) {
  return region == Region::sample ? "sample" : region == Region::fixed ? "fixed" : "tile";
}

}  // namespace detail

inline MemoryMap memory_map(const Program& program, long n, int threads) {
  return detail::MemoryMapper(program, n, threads).map();
}

/// memory_usage_details: for each kind of step of a compiled network all buffers with their places and lives, and the
/// bytes that are alive at each moment. "peak_memory_in_use" is that of the whole program, measured after operations.
inline std::string memory_details_json(const Profile& profile) {
  std::string all = "{\"graphs\":[";
  bool first = true;
  for (const StepProfile& group : profile.groups) {
    if (!group.program) continue;
    const MemoryMap map = memory_map(*group.program, group.n, group.threads);
    all += text(first ? "\n" : ",\n", "{\"network\":", detail::json_text(group.network), ",\"kind\":\"",
                name(group.kind), "\",\"batch_size\":", group.n, ",\"threads\":", group.threads,
                ",\"arena_bytes\":", map.arena, ",\"peak_bytes\":", map.peak(),
                ",\"peak_at\":", detail::json_text(map.moments.empty() ? "" : map.moments[map.fullest]),
                ",\"parameter_bytes\":", map.parameters, ",\"state_bytes\":", map.state,
                ",\"peak_memory_in_use\":", group.peak_bytes, ",\n\"moments\":[");
    for (std::size_t i = 0; i < map.moments.size(); ++i)
      all +=
          text(i ? ",\n" : "\n", "{\"name\":", detail::json_text(map.moments[i]), ",\"live_bytes\":", map.live[i], "}");
    all += "],\n\"buffers\":[";
    for (std::size_t i = 0; i < map.buffers.size(); ++i) {
      const BufferLife& life = map.buffers[i];
      all += text(i ? ",\n" : "\n", "{\"name\":", detail::json_text(life.name), ",\"region\":\"",
                  detail::name_of(life.region), "\",\"offset\":", life.offset, ",\"bytes\":", life.bytes,
                  ",\"first\":", life.first, ",\"last\":", life.last, "}");
    }
    all += "]}";
    first = false;
  }
  return all + "\n]}\n";
}

/// memory_usage_summary: MindSpore's keys and its unit, 2^30 bytes, for the step that takes most. capacity: what may be
/// used; allocations and deallocations: buffers of a step; static_mem: parameters, and the optimizer's state;
/// peak_mem: those, and what a step takes beside them.
inline std::string memory_summary_json(const Profile& profile) {
  long values = 0, fixed_bytes = 0;
  std::size_t buffers = 0;
  for (const StepProfile& group : profile.groups) {
    if (!group.program) {
      values = std::max(values, group.peak_bytes);
      continue;
    }
    const MemoryMap map = memory_map(*group.program, group.n, group.threads);
    if (map.arena + map.parameters + map.state <= values + fixed_bytes) continue;
    values = map.arena;
    fixed_bytes = map.parameters + map.state;
    buffers = map.buffers.size();
  }
  const double limit = double(tenon::detail::memory_limit().load()),
               machine = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
  const auto gigabytes = [](double bytes) { return detail::fixed(bytes / (1 << 30), 9); };
  return text("{\"capacity\":", gigabytes(std::min(limit, machine)), ",\"allocations\":", buffers,
              ",\"deallocations\":", buffers, ",\"peak_mem\":", gigabytes(double(values + fixed_bytes)),
              ",\"static_mem\":", gigabytes(double(fixed_bytes)), "}\n");
}

}  // namespace tenon::debug
