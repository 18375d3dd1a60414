// The one table about a network: every cell and parameter with its name, parent, dims, and place in the arena.
#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/core/text/type_name.hpp>
#include <tenon/graph/ir/member.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// A cell or a parameter of a network. Entry 0 is the network itself.
struct Entry {
  const void* address = nullptr;  // inside prototype<Net>
  std::uint64_t type = 0;         // a cell and its first member have one address and two types
  std::string_view name;          // member name; empty for a numbered child
  std::string_view class_name;
  int index = -1;  // number of a child in a list, else -1
  int parent = -1;
  std::uint64_t path = 0;  // hash of the dotted path, key of random streams
  bool parameter = false, trainable = false;
  bool outside = false;  // of the part that is trained: not frozen, but without a gradient
  // a number that the user sets, such as a dropout rate, or a cache: no part of checkpoints and counts
  bool setting = false;
  bool of_rows = false;  // a parameter: its gradient is one of rows
  bool freezes = false;  // such a number that says whether its cell is frozen
  TensorType dims{};
  long offset = 0;  // byte offset in the arena
  void (*initialize)(void* data, const TensorType&, std::uint64_t key, const ParameterHandle& own) = nullptr;
  std::string_view pytorch_name{};  // of a parameter, if PyTorch calls it otherwise
};

class Builder;
/// A parameter of which each rank of a group has a slice (nn/parallel): what a step asks it for.
struct SliceEntry {
  int entry = 0, axis = 0, slices = 1;
  std::string_view group{};
  int (*sum)(Builder&, int value) = nullptr;   // appends the sum over the ranks
  int (*agree)(Builder&, int flag) = nullptr;  // appends that a flag is set on all ranks if it is on one
};

/// What PyTorch calls a parameter of a cell.
struct PytorchName {
  std::string_view name, pytorch_name;
};
/// Those of a cell's parameters that PyTorch calls otherwise: none, unless the cell's header says it.
template <class Cell>
inline constexpr std::span<const PytorchName> pytorch_names{};

/// Whose names parameters have: Tenon's, which are MindSpore's, or PyTorch's, by pytorch_names.
enum class NameFamily : unsigned char { mindspore, pytorch };

namespace detail {

struct Collector {
  std::vector<Entry> entries;
  std::vector<FixedMember> members;
  SliceEntry* slices = nullptr;  // where to write them, if keeps_slices says so: no vector, which is a class more
  int slice_count = 0;
  bool keeps_slices = false;
  bool frozen = false;
  std::uint64_t part = 0;  // the type of the part of which parameters are trained; 0: here all are

  // Adds `object` and what is below it.
  template <class X>
  constexpr void visit(const X& object, std::string_view name, int index, int parent) {
    const std::uint64_t part_before = part;
    if (part == type_number<X>) part = 0;
    add_with_children(object, name, index, parent);
    part = part_before;
  }
  template <class X>
  constexpr void add_with_children(const X& object, std::string_view name, int index, int parent) {
    if constexpr (children_of<X> == Children::stands_for_inner) {
      part = X::trained;
      visit(object.cell, name, index, parent);
    } else if constexpr (std::is_array_v<X>) {
      const int self = add(Entry{&object, type_number<X>, name, "", index, parent});
      for (int i = 0; i < int(std::extent_v<X>); ++i) visit(object[i], "", i, self);
    } else if constexpr (AnyParameter<X>) {
      Entry entry{&object, type_number<X>, name, "Parameter", index, parent};
      entry.parameter = true;
      entry.outside = X::trainable && !frozen && part;
      entry.trainable = X::trainable && !frozen && !part;
      entry.setting = !X::listed;
      entry.freezes = X::freezes;
      entry.of_rows = X::of_rows;
      entry.dims = X::dims;
      entry.initialize = X::initializer;
      [[maybe_unused]] const int self = add(entry);
      if constexpr (X::sliced) {
        if (keeps_slices) slices[slice_count] = X::slice(self);
        ++slice_count;
      }
    } else if constexpr (AnyCell<X>) {
      const int self = add(Entry{&object, type_number<X>, name, tenon::class_name<X>(), index, parent});
      const bool before = frozen;
      if constexpr (is_frozen<X>) frozen = true;
      children(object, self);
      frozen = before;
    }
  }
  template <class X>
  constexpr void children(const X& cell, int self) {
    if constexpr (children_of<X> == Children::of_inner) children(cell.cell, self);  // a wrapper that adds no name
    else if constexpr (children_of<X> == Children::named)
      cell.each_child([&](const auto& child, std::string_view name) { visit(child, name, -1, self); });
    else if constexpr (children_of<X> == Children::numbered)
      cell.each_child([&](const auto& child, int i) { visit(child, "", i, self); });
    else if constexpr (!std::is_empty_v<X>) named_children(cell, self);
  }
  template <class X>
  constexpr void named_children(const X& cell, int self) {
    [&]<int... I>(std::integer_sequence<int, I...>) {
      for_each_member(cell, [&]<class M>(const M& member, int position) {
        if constexpr (!std::is_empty_v<M> || is_part<M>) {
          std::string_view name;
          ((position == I ? void(name = name_if<X, I, M>()) : void()), ...);
          if constexpr (is_part<std::remove_all_extents_t<M>>) visit(member, name, -1, self);
          else if constexpr (can_be_member<M>) members.push_back(fixed_member<X>(member, name, self));
        }
      });
    }(std::make_integer_sequence<int, member_count<X>>{});
    for (const PytorchName& said : pytorch_names<X>)
      for (std::size_t i = std::size_t(self) + 1; i < entries.size(); ++i)
        if (entries[i].parent == self && entries[i].name == said.name) entries[i].pytorch_name = said.pytorch_name;
  }
  // Member names exist per (position, type) pair; only the pair that occurs has one.
  template <class X, int I, class M>
  static constexpr std::string_view name_if() {
    if constexpr (constexpr bool here = stands_at<X, I, M>(); here) return member_name<X, I, M>();
    else return {};
  }
  // Asked without a pointer: g++ with UBSan refuses to compare one with null in constant evaluation.
  template <class X, int I, class M>
  static constexpr bool stands_at() {
    bool found = false;
    for_each_member(prototype<X>, [&found]<class Other>(const Other&, int position) {
      found |= position == I && std::is_same_v<Other, M>;
    });
    return found;
  }
  constexpr int add(const Entry& entry) {
    entries.push_back(entry);
    Entry& e = entries.back();
    std::uint64_t h = e.parent >= 0 ? entries[std::size_t(e.parent)].path : 0;
    e.path = e.index >= 0 ? hash_number(std::uint64_t(e.index), h)
                          : hash_number(hash_bytes(e.name.data(), e.name.size()), h);
    return int(entries.size()) - 1;
  }
};

template <class Net>
constexpr Collector collect(SliceEntry* slices = nullptr, bool keeps_slices = false) {
  Collector all;
  all.slices = slices, all.keeps_slices = keeps_slices;
  all.entries.reserve(256);
  all.visit(prototype<Net>, "network", -1, -1);
  return all;
}
struct Counts {
  int entries, members, slices;
};
template <class Net>
constexpr Counts count_parts() {
  const Collector all = collect<Net>();
  return {int(all.entries.size()), int(all.members.size()), all.slice_count};
}
template <class Net, int count>
inline constexpr auto slices_in = [] {
  std::array<SliceEntry, std::size_t(count)> all;
  collect<Net>(&all[0], true);
  return all;
}();
}  // namespace detail

/// Tables of a network type: `Structure<Net>::entries[i]`, `::bytes` of its arena, `::trainable` parameters.
template <class Net>
struct Structure {
  static constexpr detail::Counts counts = detail::count_parts<Net>();
  static constexpr int count = counts.entries;
  struct Table {
    Entry entry[count]{};
    long bytes = 0;
    int parameters = 0, trainable = 0;
  };
  static constexpr Table make() {
    Table made;
    const auto collected = detail::collect<Net>();
    for (int i = 0; i < count; ++i) {
      Entry& e = made.entry[i] = collected.entries[std::size_t(i)];
      if (!e.parameter) continue;
      e.offset = made.bytes;
      made.bytes += aligned(e.dims.bytes(1));
      ++made.parameters;
      made.trainable += e.trainable;
    }
    return made;
  }
  static constexpr Table table = make();

  static constexpr auto make_members() {
    std::array<FixedMember, std::size_t(counts.members)> made{};
    if constexpr (counts.members > 0) {
      const auto collected = detail::collect<Net>();
      for (std::size_t i = 0; i < made.size(); ++i) made[i] = collected.members[i];
    }
    return made;
  }
  /// What is neither a cell nor a parameter.
  static constexpr auto members = make_members();

  /// The slice that a rank has of a parameter, or one of 1 slice: all of it.
  static constexpr SliceEntry slice(int entry) {
    if constexpr (counts.slices > 0)
      for (const SliceEntry& one : detail::slices_in<Net, counts.slices>)
        if (one.entry == entry) return one;
    return {};
  }
};

/// Index of the object at `address` with type number `type`, searched from `hint` on; -1 if it is not part of the
/// network.
constexpr int find_entry(const Entry* entries, int count, const void* address, std::uint64_t type, int hint = 0) {
  for (int tried = 0, i = hint; tried < count; ++tried, i = i + 1 == count ? 0 : i + 1)
    if (entries[i].type == type && entries[i].address == address) return i;
  return -1;
}

/// Writes the path of an entry from the first named level on: "network.conv1.weight", or "conv1.weight" from level 1.
template <class Text>
[[gnu::noinline]] constexpr void write_path(Text& text, const Entry* entries, int i, std::string_view separator,
                                            bool with_root) {
  if (i < 0) return;
  const int parent = entries[i].parent;
  if (parent < 0) {
    if (with_root) text << entries[i].name;
    return;
  }
  write_path(text, entries, parent, separator, with_root);
  if (with_root || entries[parent].parent >= 0) text << separator;
  if (entries[i].index >= 0) text << entries[i].index;
  else text << entries[i].name;
}

/// The name of a parameter as checkpoints use it: "conv1.weight", "blocks.0.attention.query.bias".
std::string parameter_name(const Entry* entries, int i);
/// The same of a PyTorch module with members of the same names: "bn1.weight" for "bn1.gamma". (A function of its own: a
/// program that only saves has no code for it.)
[[gnu::cold]] std::string pytorch_parameter_name(const Entry* entries, int i);

namespace detail {
/// Throws ValueError if a member has not the value with which graphs are traced.
void compare_members(std::span<const FixedMember> members, const Entry* entries, const std::byte* net,
                     const std::byte* prototype, std::string_view root);
}  // namespace detail

/// Throws ValueError, in both modes, if a member of a network or of a cell in it has not its initial value: such
/// numbers are a part of the compiled graph. Costs nothing for a network that has none.
template <class Net>
void check_members(const Net& net, std::string_view root = "network") {
  if constexpr (Structure<Net>::counts.members > 0)
    detail::compare_members(Structure<Net>::members, Structure<Net>::table.entry,
                            reinterpret_cast<const std::byte*>(&net),
                            reinterpret_cast<const std::byte*>(&prototype<Net>), root);
}

#if TENON_DEFINES
TENON_INLINE std::string parameter_name(const Entry* entries, int i) {
  Sentence s;
  write_path(s, entries, i, ".", false);
  return std::string(s.view());
}
TENON_INLINE std::string pytorch_parameter_name(const Entry* entries, int i) {
  std::string name = parameter_name(entries, i);
  if (const Entry& e = entries[i]; !e.pytorch_name.empty()) {
    name.resize(name.size() - e.name.size());
    name += e.pytorch_name;
  }
  return name;
}
namespace detail {
[[gnu::noinline]] TENON_INLINE void compare_members(std::span<const FixedMember> members, const Entry* entries,
                                                    const std::byte* net, const std::byte* prototype,
                                                    std::string_view root) {
  for (const FixedMember& m : members) {
    const std::byte* const mine = net + (static_cast<const std::byte*>(m.address) - prototype);
    if (m.equal(mine, m.address)) continue;
    const std::string path = m.cell ? text(root, ".", parameter_name(entries, m.cell)) : std::string(root);
    throw_error<ValueError>(path, ".", m.name, m.difference(mine, m.address),
                            ": a graph is compiled with the initial value alone. Make it a template argument of ",
                            m.owner,
                            m.number ? ", or, if it is a number in a formula, declare it as nn::Setting<...> " : "",
                            m.number ? m.name : std::string_view(), ".");
  }
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
TENON_INT_SIZES_END
