// The groups of ranks of this program: ranks and sizes by the name of a group, new groups.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/process_rank.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/dist/collectives.hpp>

namespace tenon::inline TENON_ABI::dist {

/// The name of the group of all ranks.
inline constexpr const char* world_group = "world";

namespace detail {
/// Variables that mpirun sets to the number of processes: Open MPI's, MPICH's.
inline constexpr const char* launch_variables[]{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

struct Group {
  std::string name;
  Communicator ranks;
  std::vector<int> of_world;  // the rank in the world of each rank; empty if this process is none of them
  std::vector<int> host;      // the first rank of the group on the same machine, of each rank
};
/// All groups that a process knows, the world first; none before init.
struct World {
  std::vector<Group> groups;
  bool trains_alone = false;  // a Model that would share its training was made before init
};
inline World& process_world() {
  static World world;
  return world;
}
/// Lets this thread be a rank of its own, until the end of the scope.
class ThreadWorld {
 public:
  ThreadWorld(int rank, int ranks) : rank_{rank, ranks}, before_(current()), rank_before_(tenon::detail::thread_rank) {
    current() = &world_, tenon::detail::thread_rank = &rank_;
  }
  ~ThreadWorld() { current() = before_, tenon::detail::thread_rank = rank_before_; }
  ThreadWorld(const ThreadWorld&) = delete;
  ThreadWorld& operator=(const ThreadWorld&) = delete;

  static World*& current() {
    thread_local World* world = nullptr;
    return world;
  }

 private:
  World world_;
  tenon::detail::ProcessRank rank_;
  World* before_;
  const tenon::detail::ProcessRank* rank_before_;
};
inline World& world() { return ThreadWorld::current() ? *ThreadWorld::current() : process_world(); }

template <class T>
std::vector<T> gathered(const Communicator& ranks, const T& mine) {
  std::vector<T> all(std::size_t(ranks.size()));
  all_gather(ranks, std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}
/// Called by all ranks of `ranks`.
inline void add_group(std::string name, const Communicator& ranks, int rank_in_world) {
  struct Host {
    char name[256];
    bool operator==(const Host& other) const { return std::string_view(name) == other.name; }
  };
  Host here{};
  ::gethostname(here.name, sizeof here.name - 1);
  const std::vector<Host> hosts = gathered(ranks, here);
  Group group{std::move(name), ranks, gathered(ranks, rank_in_world), {}};
  for (const Host& host : hosts) group.host.push_back(int(std::find(hosts.begin(), hosts.end(), host) - hosts.begin()));
  world().groups.push_back(std::move(group));
}
[[gnu::cold]] inline std::vector<std::string> group_names() {
  std::vector<std::string> names;
  for (const Group& group : world().groups) names.push_back(group.name);
  return names;
}
inline Group& group_named(std::string_view name) {
  if (world().groups.empty())
    throw_error<RuntimeError>("This process is not a rank yet: call dist::init(\"mpi\") first.");
  for (Group& group : world().groups)
    if (group.name == name) return group;
  throw_error<ValueError>("There is no group '", name, "'; there are ", quoted_list(group_names()), ".",
                          did_you_mean(name, group_names()));
}
/// The same, for what only its ranks can ask.
inline Group& own_group(std::string_view name) {
  Group& group = group_named(name);
  if (group.of_world.empty())
    throw_error<RuntimeError>("Rank ", world().groups[0].ranks.rank(), " is not in the group '", name, "'.");
  return group;
}
}  // namespace detail

/// True between init and release.
inline bool is_initialized() { return !detail::world().groups.empty(); }

/// The group of this name, for messages and collectives. The names are as in MindSpore's communication; here and below:
/// throws RuntimeError before init and in a process that is not in the group, ValueError if there is no such group.
inline Communicator communicator(std::string_view group = world_group) { return detail::own_group(group).ranks; }

/// The number of this process in the group, from 0.
inline int get_rank(std::string_view group = world_group) { return communicator(group).rank(); }
/// The number of the group's ranks.
inline int get_group_size(std::string_view group = world_group) { return communicator(group).size(); }

/// The number of this process among the group's ranks on its machine: the GPU that it takes.
inline int get_local_rank(std::string_view group = world_group) {
  const detail::Group& of = detail::own_group(group);
  const auto mine = of.host.begin() + of.ranks.rank();
  return int(std::count(of.host.begin(), mine, *mine));
}
/// The number of the group's ranks on this machine.
inline int get_local_rank_size(std::string_view group = world_group) {
  const detail::Group& of = detail::own_group(group);
  return int(std::count(of.host.begin(), of.host.end(), of.host[std::size_t(of.ranks.rank())]));
}

/// Throws ValueError if the group has no such rank.
inline int get_world_rank_from_group_rank(std::string_view group, int group_rank) {
  const std::vector<int>& ranks = detail::own_group(group).of_world;
  if (group_rank < 0 || group_rank >= int(ranks.size()))
    throw_error<ValueError>("The group '", group, "' has no rank ", group_rank, ": its ranks are 0 to ",
                            ranks.size() - 1, ".");
  return ranks[std::size_t(group_rank)];
}
/// Throws ValueError if the group does not have that rank of the world.
inline int get_group_rank_from_world_rank(int world_rank, std::string_view group) {
  const std::vector<int>& ranks = detail::own_group(group).of_world;
  const auto place = std::find(ranks.begin(), ranks.end(), world_rank);
  if (place == ranks.end()) throw_error<ValueError>("Rank ", world_rank, " is not in the group '", group, "'.");
  return int(place - ranks.begin());
}

namespace detail {
[[gnu::cold]] inline void check_new_group(const std::string& name, std::vector<int> ranks) {
  const Group& all = group_named(world_group);
  if (name.empty() || name.size() > 127)
    throw_error<ValueError>("create_group: a name of ", name.size(), " bytes; it has 1 to 127.");
  for (const std::string& known : group_names())
    if (known == name) throw_error<ValueError>("create_group: there is a group '", name, "' already.");
  if (ranks.empty()) throw_error<ValueError>("create_group: the group '", name, "' has no ranks.");
  std::sort(ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= all.ranks.size())
      throw_error<ValueError>("create_group: there is no rank ", ranks[i], " for the group '", name,
                              "'; the ranks are 0 to ", all.ranks.size() - 1, ".");
    if (i > 0 && ranks[i] == ranks[i - 1])
      throw_error<ValueError>("create_group: the group '", name, "' names the rank ", ranks[i], " twice.");
  }
}
/// Throws RuntimeError, on all ranks, if not all ask for the same group.
inline void agree_on_group(const std::string& name, const std::vector<int>& ranks) {
  const std::uint64_t hash = hash_bytes(reinterpret_cast<const char*>(ranks.data()), ranks.size() * sizeof(int),
                                        hash_bytes(name.data(), name.size()));
  const std::vector<std::uint64_t> hashes = gathered(group_named(world_group).ranks, hash);
  for (std::size_t rank = 1; rank < hashes.size(); ++rank)
    if (hashes[rank] != hashes[0])
      throw_error<RuntimeError>("create_group: ranks 0 and ", rank,
                                " ask for groups with different names or ranks; "
                                "here it is '",
                                name, "'. All ranks create the same groups in the same order.");
}
}  // namespace detail

/// Makes a group of some ranks of the world, in this order. All ranks of the world call it, also those that are not
/// in it. Throws ValueError for a name that is taken or longer than 127 bytes, for ranks that are none, not there, or
/// named twice; RuntimeError if the ranks do not agree.
inline void create_group(const std::string& name, const std::vector<int>& ranks) {
  detail::agree_on_group(name, ranks);
  detail::check_new_group(name, ranks);
  const Communicator all = detail::group_named(world_group).ranks;
  const auto place = std::find(ranks.begin(), ranks.end(), all.rank());
  const bool is_in = place != ranks.end();
  const Communicator part = all.split(is_in ? 0 : 1, is_in ? int(place - ranks.begin()) : all.rank());
  if (is_in) detail::add_group(name, part, all.rank());
  else detail::world().groups.push_back({name, {}, {}, {}});
}
/// Forgets a group. Throws ValueError for the world and for a name that no group has.
inline void destroy_group(const std::string& name) {
  if (name == world_group) throw_error<ValueError>("The group of all ranks cannot be destroyed.");
  detail::group_named(name);
  std::erase_if(detail::world().groups, [&](const detail::Group& group) { return group.name == name; });
}

}  // namespace tenon::dist
