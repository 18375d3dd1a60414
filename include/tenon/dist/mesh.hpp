// create_mesh: the ranks of a program as a grid, with a group for each rank's row along each axis.
#pragma once
#include <initializer_list>
#include <string>

#include <tenon/dist/world.hpp>

namespace tenon::inline TENON_ABI::dist {

/// An axis of a grid of ranks: the name of its groups, and how many ranks are in each.
struct MeshAxis {
  std::string name;
  int size;
};

/// Arranges all ranks in a grid, row by row, and makes groups along its axes. With 4 ranks
///
///     dist::create_mesh({{"replicas", 2}, {"slices", 2}});
///
/// "slices" is the group of ranks 0 and 1 on these, and that of 2 and 3 on those; "replicas" that of 0 and 2, or that
/// of 1 and 3. So a network can name groups in its type that differ from rank to rank. Ranks of the last axis are
/// neighbours: usually they are on one machine.
///
/// All ranks call it with the same axes. Throws ValueError unless the sizes are 1 or more and have the number of ranks
/// as their product, and for names as create_group does; RuntimeError if the ranks do not agree. Source: PyTorch's
/// init_device_mesh
void create_mesh(std::initializer_list<MeshAxis> axes);

#if TENON_DEFINES
namespace detail {
[[gnu::cold, gnu::noinline]] inline void check_mesh(std::initializer_list<MeshAxis> axes, int ranks) {
  std::string asked;
  long product = 1;
  std::vector<std::string> names;
  for (const MeshAxis& axis : axes) {
    check_group_name("create_mesh", axis.name);
    for (const std::string& other : names)
      if (other == axis.name) throw_error<ValueError>("create_mesh: two axes have the name '", axis.name, "'.");
    names.push_back(axis.name);
    asked += (asked.empty() ? "" : " x ") + std::to_string(axis.size);
    product = axis.size < 1 || product > ranks ? 0 : product * axis.size;
  }
  if (product != ranks)
    throw_error<ValueError>("create_mesh: a grid of ", asked.empty() ? "no axes" : asked, " for ", ranks,
                            " ranks: sizes are 1 or more, and their product is the number of ranks.");
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void create_mesh(std::initializer_list<MeshAxis> axes) {
  const Communicator all = detail::group_named(world_group).ranks;
  std::string name;
  std::vector<int> sizes;
  bool is_known = false;
  for (const MeshAxis& axis : axes) {
    name += (name.empty() ? "" : " ") + axis.name;
    sizes.push_back(axis.size);
    is_known = is_known || detail::has_group(axis.name);
  }
  detail::agree_on_group("create_mesh", name, sizes, is_known);
  detail::check_mesh(axes, all.size());
  int below = all.size();
  for (const MeshAxis& axis : axes) {
    below /= axis.size;
    const int place = all.rank() / below % axis.size;
    detail::add_group(axis.name, all.split(all.rank() - place * below, place), all.rank());
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::dist
