// The groups of ranks of this program: ranks and sizes by the name of a group, new groups.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/memory/growing.hpp>
#include <tenon/core/process_rank.hpp>
#include <tenon/dist/collectives.hpp>
#if TENON_DEFINES
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include <tenon/core/random/philox.hpp>
#endif

namespace tenon::inline TENON_ABI::dist {

/// The name of the group of all ranks.
inline constexpr const char* world_group = "world";

namespace detail {
/// Variables that mpirun sets to the number of processes: Open MPI's, MPICH's.
inline constexpr const char* launch_variables[]{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

struct Group {
  std::string name;
  Communicator ranks;
  tenon::detail::Growing<int> of_world;  // the rank in the world of each rank; empty if this process is none of them
  tenon::detail::Growing<int> host;      // the first rank of the group on the same machine, of each rank

  /// Whether a rank is on this machine.
  bool is_beside(int rank) const { return host[std::size_t(rank)] == host[std::size_t(ranks.rank())]; }
};
/// All groups that a process knows, the world first; none before init.
struct World {
  tenon::detail::Growing<Group> groups;
  bool trains_alone = false;  // a Model that would share its training was made before init
};
World& process_world();
/// Lets this thread be a rank of its own, until the end of the scope.
class ThreadWorld {
 public:
  ThreadWorld(int rank, int ranks) : rank_{rank, ranks}, before_(current()), rank_before_(tenon::detail::thread_rank) {
    current() = &world_, tenon::detail::thread_rank = &rank_;
  }
  ~ThreadWorld() { current() = before_, tenon::detail::thread_rank = rank_before_; }
  ThreadWorld(const ThreadWorld&) = delete;
  ThreadWorld& operator=(const ThreadWorld&) = delete;

  static World*& current();

 private:
  World world_;
  tenon::detail::ProcessRank rank_;
  World* before_;
  const tenon::detail::ProcessRank* rank_before_;
};
/// That of this thread, or of the process.
World& world();

/// Called by all ranks of `ranks`.
void add_group(std::string name, const Communicator& ranks, int rank_in_world);
Group& group_named(std::string_view name);
/// The same, for what only its ranks can ask.
Group& own_group(std::string_view name);
}  // namespace detail

/// True between init and release.
bool is_initialized();

/// The group of this name, for messages and collectives. The names are as in MindSpore's communication; here and below:
/// throws RuntimeError before init and in a process that is not in the group, ValueError if there is no such group.
Communicator communicator(std::string_view group = world_group);

/// The number of this process in the group, from 0.
int get_rank(std::string_view group = world_group);
/// The number of the group's ranks.
int get_group_size(std::string_view group = world_group);

/// The number of this process among the group's ranks on its machine: the GPU that it takes.
int get_local_rank(std::string_view group = world_group);
/// The number of the group's ranks on this machine.
int get_local_rank_size(std::string_view group = world_group);

/// Throws ValueError if the group has no such rank.
int get_world_rank_from_group_rank(std::string_view group, int group_rank);
/// Throws ValueError if the group does not have that rank of the world.
int get_group_rank_from_world_rank(int world_rank, std::string_view group);

/// Makes a group of some ranks of the world, in this order. All ranks of the world call it, also those that are not
/// in it. Throws ValueError for a name that is taken or longer than 127 bytes, for ranks that are none, not there, or
/// named twice; RuntimeError if the ranks do not agree.
void create_group(const std::string& name, const std::vector<int>& ranks);
/// Forgets a group. Throws ValueError for the world and for a name that no group has.
void destroy_group(const std::string& name);

#if TENON_DEFINES
namespace detail {
[[gnu::noinline]] TENON_INLINE World& process_world() {
  static World world;
  return world;
}
[[gnu::noinline]] TENON_INLINE World*& ThreadWorld::current() {
  thread_local World* world = nullptr;
  return world;
}
[[gnu::noinline]] TENON_INLINE World& world() {
  return ThreadWorld::current() ? *ThreadWorld::current() : process_world();
}
/// all_gather of the `bytes` at an address.
[[gnu::cold, gnu::noinline]] inline void gather(const Communicator& ranks, const void* mine, std::size_t bytes,
                                                void* all) {
  all_gather(ranks, {static_cast<const std::byte*>(mine), bytes},
             {static_cast<std::byte*>(all), bytes * std::size_t(ranks.size())});
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void add_group(std::string name, const Communicator& ranks,
                                                         int rank_in_world) {
  constexpr std::size_t longest = 256;
  char here[longest]{};
  ::gethostname(here, longest - 1);
  const auto size = std::size_t(ranks.size());
  std::string hosts(size * longest, '\0');
  // by addresses, as a span that is made of a container costs the program the headers' checks of ranges
  gather(ranks, here, longest, hosts.data());
  Group group{std::move(name), ranks, {}, {}};
  group.of_world.fill(size), group.host.fill(size);
  gather(ranks, &rank_in_world, sizeof rank_in_world, group.of_world.begin());
  for (std::size_t rank = 0; rank < size; ++rank)
    while (std::strcmp(&hosts[rank * longest], &hosts[std::size_t(group.host[rank]) * longest]) != 0)
      ++group.host[rank];
  world().groups.push_back(std::move(group));
}
[[gnu::cold, gnu::noinline]] inline std::vector<std::string> group_names() {
  std::vector<std::string> names;
  for (const Group& group : world().groups) names.push_back(text(group.name));
  return names;
}
[[gnu::noinline]] TENON_INLINE Group& group_named(std::string_view name) {
  if (world().groups.empty())
    throw_error<RuntimeError>("This process is not a rank yet: call dist::init(\"mpi\") first.");
  for (Group& group : world().groups)
    if (group.name == name) return group;
  throw_error<ValueError>("There is no group '", name, "'; there are ", quoted_list(group_names()), ".",
                          did_you_mean(name, group_names()));
}
[[gnu::noinline]] TENON_INLINE Group& own_group(std::string_view name) {
  Group& group = group_named(name);
  if (group.of_world.empty())
    throw_error<RuntimeError>("Rank ", world().groups[0].ranks.rank(), " is not in the group '", name, "'.");
  return group;
}
/// The place of a rank in a list of `count`, or the length of the list.
[[gnu::noinline]] inline int place_in(const int* ranks, std::size_t count, int rank) {
  int place = 0;
  while (place < int(count) && ranks[place] != rank) ++place;
  return place;
}
[[gnu::cold, gnu::noinline]] inline bool has_group(std::string_view name) {
  for (const Group& known : world().groups)
    if (known.name == name) return true;
  return false;
}
[[gnu::cold, gnu::noinline]] inline void check_group_name(std::string_view who, const std::string& name) {
  if (name.empty() || name.size() > 127)
    throw_error<ValueError>(who, ": a name of ", name.size(), " bytes; it has 1 to 127.");
  if (has_group(name)) throw_error<ValueError>(who, ": there is a group '", name, "' already.");
}
[[gnu::cold, gnu::noinline]] inline void check_new_group(const std::string& name, const std::vector<int>& ranks) {
  const Group& all = group_named(world_group);
  check_group_name("create_group", name);
  if (ranks.empty()) throw_error<ValueError>("create_group: the group '", name, "' has no ranks.");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= all.ranks.size())
      throw_error<ValueError>("create_group: there is no rank ", ranks[i], " for the group '", name,
                              "'; the ranks are 0 to ", all.ranks.size() - 1, ".");
    if (place_in(ranks.data(), ranks.size(), ranks[i]) < int(i))
      throw_error<ValueError>("create_group: the group '", name, "' names the rank ", ranks[i], " twice.");
  }
}
/// Throws RuntimeError, on all ranks, if not all ask for the same group, or if some have one of that name already
/// (`is_known`) and others have destroyed it: those that go on would wait for the others.
[[gnu::cold, gnu::noinline]] inline void agree_on_group(const char* who, const std::string& name,
                                                        const std::vector<int>& ranks, bool is_known) {
  const std::uint64_t own[]{hash_bytes(reinterpret_cast<const char*>(ranks.data()), ranks.size() * sizeof(int),
                                       hash_bytes(name.data(), name.size())),
                            is_known};
  const Communicator& all = group_named(world_group).ranks;
  tenon::detail::Growing<std::uint64_t> asked;
  asked.fill(2 * std::size_t(all.size()));
  gather(all, own, sizeof own, asked.begin());
  constexpr const char* same = "All ranks create and destroy the same groups in the same order.";
  for (std::size_t rank = 1; rank < std::size_t(all.size()); ++rank) {
    if (asked[2 * rank] != asked[0])
      throw_error<RuntimeError>(who, ": ranks 0 and ", rank,
                                " ask for groups with different names or ranks; here it is '", name, "'. ", same);
    if (asked[2 * rank + 1] != asked[1])
      throw_error<RuntimeError>(who, ": rank ", asked[1] ? 0 : rank, " has a group of the name '", name,
                                "' already, and rank ", asked[1] ? rank : 0, " has none. ", same);
  }
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE bool is_initialized() { return !detail::world().groups.empty(); }
[[gnu::noinline]] TENON_INLINE Communicator communicator(std::string_view group) {
  return detail::own_group(group).ranks;
}
[[gnu::noinline]] TENON_INLINE int get_rank(std::string_view group) { return detail::own_group(group).ranks.rank(); }
[[gnu::noinline]] TENON_INLINE int get_group_size(std::string_view group) {
  return detail::own_group(group).ranks.size();
}
[[gnu::noinline]] TENON_INLINE int get_local_rank(std::string_view group) {
  const detail::Group& of = detail::own_group(group);
  int before = 0;
  for (int rank = 0; rank < of.ranks.rank(); ++rank) before += of.is_beside(rank);
  return before;
}
[[gnu::noinline]] TENON_INLINE int get_local_rank_size(std::string_view group) {
  const detail::Group& of = detail::own_group(group);
  int here = 0;
  for (int rank = 0; rank < of.ranks.size(); ++rank) here += of.is_beside(rank);
  return here;
}
[[gnu::noinline]] TENON_INLINE int get_world_rank_from_group_rank(std::string_view group, int group_rank) {
  const tenon::detail::Growing<int>& ranks = detail::own_group(group).of_world;
  if (group_rank < 0 || group_rank >= int(ranks.size()))
    throw_error<ValueError>("The group '", group, "' has no rank ", group_rank, ": its ranks are 0 to ",
                            ranks.size() - 1, ".");
  return ranks[std::size_t(group_rank)];
}
[[gnu::noinline]] TENON_INLINE int get_group_rank_from_world_rank(int world_rank, std::string_view group) {
  const tenon::detail::Growing<int>& ranks = detail::own_group(group).of_world;
  const int place = detail::place_in(ranks.begin(), ranks.size(), world_rank);
  if (place == int(ranks.size())) throw_error<ValueError>("Rank ", world_rank, " is not in the group '", group, "'.");
  return place;
}

[[gnu::noinline]] TENON_INLINE void create_group(const std::string& name, const std::vector<int>& ranks) {
  detail::agree_on_group("create_group", name, ranks, detail::has_group(name));
  detail::check_new_group(name, ranks);
  const Communicator all = detail::group_named(world_group).ranks;
  const int place = detail::place_in(ranks.data(), ranks.size(), all.rank());
  const bool is_in = place < int(ranks.size());
  const Communicator part = all.split(is_in ? 0 : 1, is_in ? place : all.rank());
  if (is_in) detail::add_group(name, part, all.rank());
  else detail::world().groups.push_back({name, {}, {}, {}});
}
[[gnu::noinline]] TENON_INLINE void destroy_group(const std::string& name) {
  if (name == world_group) throw_error<ValueError>("The group of all ranks cannot be destroyed.");
  detail::group_named(name);
  tenon::detail::Growing<detail::Group> kept;
  for (detail::Group& group : detail::world().groups)
    if (group.name != name) kept.push_back(std::move(group));
  detail::world().groups = std::move(kept);
}
#endif  // TENON_DEFINES

}  // namespace tenon::dist
