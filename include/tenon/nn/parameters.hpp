// The parameters of a network at run time: bound to memory, listed by name, frozen, copied.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/thread/atomic.hpp>
#include <tenon/graph/ir/parameter.hpp>
#include <tenon/graph/plan/memory_owners.hpp>
#include <tenon/run/executor.hpp>
#if TENON_DEFINES
#include <cstring>

#include <tenon/core/memory/owned.hpp>
#include <tenon/core/thread/threads.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// One parameter of a network, whatever its type. Valid until the network is moved or destroyed.
class ParameterRef {
 public:
  ParameterRef(const Entry& entry, const ParameterHandle& handle, std::string name);

  const std::string& name() const { return name_; }
  /// The elements, in place.
  AnyTensor view() const { return AnyTensor(entry_->dims, 1, handle_->hand_out(entry_->dims.bytes(1))); }
  template <Element T>
  std::span<T> values() const {
    return view().as<T>();
  }
  /// False for state that training changes by other means, and inside nn::Frozen.
  bool trainable() const { return entry_->trainable; }
  bool requires_grad() const { return trainable() && handle_->requires_grad(); }
  void requires_grad(bool wanted) const { handle_->requires_grad(wanted); }

  /// Copies values in. Throws TypeError for another dtype, ValueError for another shape. After an error nothing has
  /// changed.
  void set_data(const AnyTensor& values) const;

 private:
  const Entry* entry_;
  const ParameterHandle* handle_;
  std::string name_;
};

/// Parameters by name, in the order of the network's members.
class ParameterDict {
 public:
  void add(ParameterRef parameter);
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  std::size_t size() const { return list_.size(); }
  bool contains(std::string_view name) const;
  /// Throws KeyError with the nearest name.
  const ParameterRef& operator[](std::string_view name) const;

 private:
  using List = std::vector<std::pair<std::string, ParameterRef>>;
  List::const_iterator find(std::string_view name) const;
  List list_;
};

namespace detail {
inline const ParameterHandle* handle_of(const Entry& entry, const std::byte* net, const std::byte* prototype) {
  return reinterpret_cast<const ParameterHandle*>(net + (static_cast<const std::byte*>(entry.address) - prototype));
}
constexpr long trainable_elements(const Entry* entries, int count) {
  long sum = 0;
  for (int i = 0; i < count; ++i)
    if (entries[i].trainable) sum += entries[i].dims.count(1);
  return sum;
}
}  // namespace detail

/// The handles of a network's parameters, for code that does not know its type.
class ParameterList {
 public:
  template <class Net>
  explicit ParameterList(const Net& net)
      : table_(Structure<Net>::table.entry),
        count_(Structure<Net>::count),
        bytes_(Structure<Net>::table.bytes),
        net_(reinterpret_cast<const std::byte*>(&net)),
        prototype_(reinterpret_cast<const std::byte*>(&prototype<Net>)) {}

  const Entry* table() const { return table_; }
  int entries() const { return count_; }
  long bytes() const { return bytes_; }
  const ParameterHandle& handle(int entry) const { return *detail::handle_of(table_[entry], net_, prototype_); }
  ParameterArena* arena() const;
  /// ParameterArena::values, 0 if there is none.
  std::uint64_t values() const;
  /// The address from which the offsets of the table count. Parameters of a part of a network lie together, in the
  /// order of its table, somewhere in the network's arena.
  std::byte* base() const;
  /// Creates the arena and draws initial values, unless it exists. A part that was used alone before has a separate
  /// arena, and keeps its values. Several threads may call it at the same time.
  void bind() const;
  /// Makes an arena with the values and flags of another network of the same type.
  void copy_from(const ParameterList& other) const;

  /// Takes the parameters of another network instead of its own.
  void share(const ParameterList& other) const;

  void requires_grad(bool wanted) const;
  /// For a whole network, sets the flag of direct calls; `mode` = true also resets set_train(false) of all parts. For a
  /// part, sets whether its cells that can be frozen are frozen.
  void set_train(bool mode) const;
  ParameterRef ref(int entry) const;
  ParameterDict dict() const;
  /// Parameters that require a gradient, or those that do not.
  std::vector<ParameterRef> select(bool requires_grad) const;

 private:
  [[gnu::cold]] void bind_once() const;
  [[gnu::cold, noreturn]] static void refuse_to_leave(const ParameterList& network, int entry);
  // A cell that was a part, or without values, brings into its network what was said of it.
  void take_freezers(void* number, const ParameterHandle& own) const {
    const detail::SetTrainLater& later = own.set_train;
    const bool evaluates = own.arena
                               ? own.arena->evaluates && own.arena->entry_count < count_
                               : later.part_evaluates || (later.widest && !later.trains && !later.of_whole(count_));
    if (evaluates) add_freezer(number, detail::by_set_train, true);
    if (!own.requires_grad()) add_freezer(number, detail::by_requires_grad, true);
  }
  [[gnu::cold]] void freeze_cells(detail::Freezer by, bool frozen) const;
  // Whether no parameter has any: what requires_grad() and set_train() say then waits in the handles.
  bool has_no_values() const;
  static void add_freezer(void* number, detail::Freezer by, bool frozen) {
    float& value = *static_cast<float*>(number);
    value = static_cast<float>(frozen ? int(value) | by : int(value) & ~by);
  }
  // True if all parameters are in one arena at the places of the table: a part that was replaced, or used alone before,
  // is elsewhere. An arena that was made for a part counts its entries from there, so that they have lower numbers than
  // in this table. Reads nothing of the arena: another thread may just let it go.
  bool lies_together() const;
  // Binds every parameter to a new arena. `fill(entry, data)` may write its values; else it keeps those it has, or
  // draws.
  template <class Fill>
  void bind_to_new(Fill fill) const;
  // Throws OutOfMemory that names the largest parameters.
  [[gnu::cold]] ParameterArena* make_arena() const;

  const Entry* table_;
  int count_;
  long bytes_;
  const std::byte *net_, *prototype_;
};

namespace detail {
void freeze(Executor& executor, const ParameterList& parameters, unsigned version);
/// Throws ValueError if requires_grad(false) has frozen all that an optimizer would change. MindSpore says so when the
/// optimizer is made; here parameters may be frozen later, so it is said when `what` begins.
[[gnu::cold]] void check_trains(std::string_view what, const ParameterList& parameters);

/// Throws OutOfMemory, before any of it is taken, if there is no room for the parameters of a network, unless they are
/// there, and for the `state_bytes` of its optimizer. `state`: where in them that of each entry begins, 0: it has none.
/// Returns state_bytes.
[[gnu::cold]] long check_training_memory(const ParameterList& parameters, const long* state, long state_bytes);
}  // namespace detail

/// Tells an executor which parameters are frozen, if that changed since it was told last: otherwise it costs one
/// comparison.
inline void freeze_as_flagged(Executor& executor, const ParameterList& parameters) {
  const ParameterArena* arena = parameters.arena();
  if (!arena || executor.freeze_version() == arena->freeze_version) return;
  detail::freeze(executor, parameters, arena->freeze_version);
}

#if TENON_DEFINES
TENON_INLINE_CONSTRUCTOR ParameterRef::ParameterRef(const Entry& entry, const ParameterHandle& handle, std::string name)
    : entry_(&entry), handle_(&handle), name_(std::move(name)) {}
TENON_INLINE void ParameterRef::set_data(const AnyTensor& values) const {
  const AnyTensor own(entry_->dims, 1, handle_->values_at(entry_->dims.bytes(1)));
  if (values.dtype != own.dtype)
    throw_error<TypeError>("Parameter '", name_, "' holds ", tenon::name(own.dtype), ", set_data got ",
                           tenon::name(values.dtype), ": cast the values.");
  bool fits = values.rank == own.rank;
  for (int axis = 0; fits && axis < own.rank; ++axis) fits = values.extent[axis] == own.extent[axis];
  if (!fits)
    throw_error<ValueError>("Parameter '", name_, "' has the shape ", shape_text(own.shape()), ", set_data got ",
                            shape_text(values.shape()), ".");
  std::memmove(own.data, values.data, own.bytes());
  handle_->change();
}

TENON_INLINE void ParameterDict::add(ParameterRef parameter) { list_.emplace_back(parameter.name(), parameter); }
TENON_INLINE bool ParameterDict::contains(std::string_view name) const { return find(name) != list_.end(); }
TENON_INLINE const ParameterRef& ParameterDict::operator[](std::string_view name) const {
  if (const auto found = find(name); found != list_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, parameter] : list_) names.push_back(std::string(known));
  throw_error<KeyError>("The network has no parameter '", name, "'.", did_you_mean(name, names));
}
TENON_INLINE ParameterDict::List::const_iterator ParameterDict::find(std::string_view name) const {
  auto item = list_.begin();
  while (item != list_.end() && item->first != name) ++item;
  return item;
}

[[gnu::noinline]] TENON_INLINE ParameterArena* ParameterList::arena() const {
  if (!bytes_) return nullptr;
  for (int i = 0; i < count_; ++i)
    if (table_[i].parameter) return handle(i).bound_arena();
  return nullptr;
}
TENON_INLINE std::uint64_t ParameterList::values() const {
  const ParameterArena* const whole = arena();
  return whole ? whole->values.load(detail::MemoryOrder::relaxed) : 0;
}
[[gnu::noinline]] TENON_INLINE std::byte* ParameterList::base() const {
  if (!bytes_) return nullptr;
  for (int i = 0; i < count_; ++i)
    if (table_[i].parameter) return handle(i).bound_data() - table_[i].offset;
  return nullptr;
}
TENON_INLINE bool ParameterList::lies_together() const {
  const ParameterArena* const whole = arena();
  const std::byte* const start = base();
  if (!whole) return false;
  for (int i = 0; i < count_; ++i)
    if (table_[i].parameter && (handle(i).bound_data() != start + table_[i].offset ||
                                handle(i).bound_arena() != whole || handle(i).bound_entry() < i))
      return false;
  return true;
}
[[gnu::noinline]] TENON_INLINE ParameterArena* ParameterList::make_arena() const try {
  return ParameterArena::make(count_, bytes_);
} catch (const OutOfMemory& error) {
  detail::MemoryOwners owners;
  owners.add_parameters(table_, count_);
  detail::refuse_memory(error, owners.sentence());
}
template <class Fill>
void ParameterList::bind_to_new(Fill fill) const {
  ParameterArena* fresh = make_arena();
  fresh->retain();
  for (int i = 0; i < count_; ++i) {
    if (!table_[i].parameter) continue;
    const Entry& entry = table_[i];
    const ParameterHandle& own = handle(i);
    std::byte* const data = fresh->data + entry.offset;
    if (!fill(i, data)) {
      fresh->training |= own.arena ? own.arena->training : bool(own.set_train.trains);
      fresh->evaluates |= own.set_train.of_whole(count_) && !own.set_train.trains;
      if (own.data)
        std::memcpy(data, own.values_at(entry.dims.bytes(1), detail::Look::read), std::size_t(entry.dims.bytes(1)));
      else entry.initialize(data, entry.dims, hash_number(entry.path, get_context().seed), own);
      if (entry.freezes) take_freezers(data, own);
    }
    own.bind(fresh, data, i, entry.trainable || entry.outside);
  }
  fresh->release();
}
[[gnu::noinline]] TENON_INLINE void ParameterList::bind_once() const {
  static detail::RecursiveMutex one_at_a_time;  // an initializer may bind another network
  const detail::Lock lock(one_at_a_time);
  if (lies_together()) return;
  for (int i = 0; i < count_; ++i)
    if (const ParameterArena* const its = table_[i].parameter ? handle(i).arena : nullptr; its && its->refuse_to_leave)
      its->refuse_to_leave(*this, i);
  bind_to_new([](int, std::byte*) { return false; });
}
[[gnu::noinline]] TENON_INLINE void ParameterList::bind() const {
  if (bytes_ && !lies_together()) bind_once();
}
TENON_INLINE void ParameterList::copy_from(const ParameterList& other) const {
  if (!bytes_) return;
  bind_to_new([&](int i, std::byte* data) {
    const long bytes = table_[i].dims.bytes(1);
    std::memcpy(data, other.handle(i).values_at(bytes, detail::Look::read), std::size_t(bytes));
    handle(i).requires_grad(other.handle(i).requires_grad());
    return true;
  });
  arena()->training = other.arena()->training;
}
TENON_INLINE void ParameterList::refuse_to_leave(const ParameterList& network, int entry) {
  throw_error<RuntimeError>("Parameter '", parameter_name(network.table_, entry),
                            "' is shared with another network, but other parameters of this one are not: "
                            "share_parameters was given a part of a network, or a part was assigned since. All "
                            "parameters of a network lie together, so the sharing would end. Share whole networks that "
                            "have the same members.");
}
TENON_INLINE void ParameterList::share(const ParameterList& other) const {
  std::vector<std::string> names;
  for (int k = 0; k < other.count_; ++k)
    names.push_back(other.table_[k].parameter ? parameter_name(other.table_, k) : std::string());
  std::vector<int> source(std::size_t(count_), -1);
  const std::byte* start = nullptr;
  for (int i = 0; i < count_; ++i) {
    if (!table_[i].parameter) continue;
    const std::string name = parameter_name(table_, i);
    std::size_t found = 0;
    while (found < names.size() && names[found] != name) ++found;
    if (found == names.size())
      throw_error<KeyError>("share_parameters: the first network has no parameter '", name, "'.",
                            did_you_mean(name, names));
    const int k = source[std::size_t(i)] = int(found);
    const TensorType &own = table_[i].dims, &its = other.table_[k].dims;
    if (!(own == its))
      throw_error<ValueError>("share_parameters: parameter '", name, "' is ", detail::type_text(own), " here and ",
                              detail::type_text(its), " in the first network.");
    const std::byte* const here = other.handle(k).data - table_[i].offset;
    if ((start && here != start) || other.handle(k).entry < i)
      throw_error<ValueError>("share_parameters: parameter '", name,
                              "' is at another place in the first network: "
                              "both need the same members in the same order.");
    start = here;
  }
  for (int i = 0; i < count_; ++i)
    if (source[std::size_t(i)] >= 0) {
      const ParameterHandle& its = other.handle(source[std::size_t(i)]);
      its.arena->refuse_to_leave = refuse_to_leave;
      handle(i).bind(its.arena, its.data, its.entry, table_[i].trainable || table_[i].outside);
    }
}
[[gnu::noinline]] TENON_INLINE bool ParameterList::has_no_values() const {
  for (int i = 0; i < count_; ++i)
    if (table_[i].parameter && handle(i).bound_data()) return false;
  return true;
}
TENON_INLINE void ParameterList::requires_grad(bool wanted) const {
  const bool later = has_no_values();
  if (!later) bind();
  for (int i = 0; i < count_; ++i)
    if (table_[i].trainable || table_[i].freezes) handle(i).requires_grad(wanted);
  if (!later) freeze_cells(detail::by_requires_grad, !wanted);
}
TENON_INLINE void ParameterList::set_train(bool mode) const {
  if (has_no_values()) {
    for (int i = 0; i < count_; ++i)
      if (table_[i].parameter) handle(i).set_train.say(mode, count_);
    return;
  }
  bind();
  ParameterArena* const whole = arena();
  const bool part = count_ < whole->entry_count;
  if (!part) whole->training = mode, whole->evaluates = !mode;
  if (part || mode) freeze_cells(detail::by_set_train, !mode);
}
[[gnu::noinline]] TENON_INLINE void ParameterList::freeze_cells(detail::Freezer by, bool frozen) const {
  for (int i = 0; i < count_; ++i) {
    if (!table_[i].freezes) continue;
    add_freezer(handle(i).values_at(table_[i].dims.bytes(1)), by, frozen);
    handle(i).change();
  }
}
TENON_INLINE ParameterRef ParameterList::ref(int entry) const {
  return {table_[entry], handle(entry), parameter_name(table_, entry)};
}
TENON_INLINE ParameterDict ParameterList::dict() const {
  ParameterDict all;
  for (int i = 0; i < count_; ++i)
    if (table_[i].parameter && !table_[i].setting) all.add(ref(i));
  return all;
}
TENON_INLINE std::vector<ParameterRef> ParameterList::select(bool requires_grad) const {
  std::vector<ParameterRef> chosen;
  for (const auto& [name, parameter] : dict())
    if (parameter.requires_grad() == requires_grad) chosen.push_back(parameter);
  return chosen;
}

namespace detail {
TENON_INLINE void freeze(Executor& executor, const ParameterList& parameters, unsigned version) {
  const tenon::detail::Owned<bool[]> frozen(new bool[std::size_t(parameters.entries())]());
  for (int i = 0; i < parameters.entries(); ++i)
    frozen[std::size_t(i)] = parameters.table()[i].trainable && !parameters.handle(i).requires_grad();
  executor.freeze(frozen.get(), version);
}
TENON_INLINE void check_trains(std::string_view what, const ParameterList& parameters) {
  for (int i = 0; i < parameters.entries(); ++i)
    if (parameters.table()[i].trainable && parameters.handle(i).requires_grad()) return;
  throw_error<ValueError>(what, ": the optimizer got an empty parameter list: requires_grad(false) has frozen every "
                                "parameter. Call requires_grad(true) of what is to train.");
}
[[gnu::noinline]] TENON_INLINE long check_training_memory(const ParameterList& parameters, const long* state,
                                                          long state_bytes) {
  const long bytes = state_bytes + (parameters.arena() ? 0 : parameters.bytes());
  if (memory_fits(bytes)) return state_bytes;
  MemoryOwners owners;
  const Entry* const table = parameters.table();
  owners.add_parameters(table, parameters.entries());
  for (int e = parameters.entries(), end = 0; e-- > 0;) {
    if (!state[e]) continue;
    const double its = double((end ? state[end] : state_bytes) - state[e]);
    if (end = e; owners.wants(its, &state[e]))
      owners.add(its, &state[e], text("optimizer state of ", parameter_name(table, e)));
  }
  refuse_memory(double(bytes), "the parameters of a network and the state of its optimizer", owners.sentence());
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
