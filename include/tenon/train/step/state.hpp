// Everything that a training step changes besides the network: random counter, step, numbers, moments.
#pragma once

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/io/tensors/named_tensor.hpp>
#include <tenon/nn/cell.hpp>
#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/ops/overflow_check.hpp>
#if TENON_DEFINES
#endif

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Byte offsets of a training state: [seed, step], loss scale and overflow flag (graph/ir/guard.hpp), then the numbers
/// of all trained parameters, which the host writes, then their moments, which only kernels change.
template <class Net, class Optimizer>
struct StateLayout {
  /// What a slot of a parameter is.
  static constexpr TensorType slot_type(int slot, const TensorType& parameter) {
    if constexpr (requires { Optimizer::slot_type(slot, parameter); }) return Optimizer::slot_type(slot, parameter);
    else return parameter;
  }
  static constexpr int entries = Structure<Net>::count;
  struct Table {
    long numbers[entries]{};
    long slot[entries][nn::max_slots]{};
    long bytes = alignment;
  };
  static constexpr Table make() {
    static_assert(Optimizer::slots <= nn::max_slots, "an optimizer has at most 4 moments per parameter, and a sum");
    Table t;
    for (int e = 0; e < entries; ++e) {
      const Entry& entry = Structure<Net>::table.entry[e];
      if (!entry.parameter || !entry.trainable) continue;
      t.numbers[e] = t.bytes;
      t.bytes += aligned(nn::numbers_type.bytes(1));
    }
    for (int e = 0; e < entries; ++e) {
      const Entry& entry = Structure<Net>::table.entry[e];
      if (!t.numbers[e]) continue;
      for (int s = 0; s < Optimizer::slots; ++s) {
        t.slot[e][s] = t.bytes;
        t.bytes += aligned(slot_type(s, entry.dims).bytes(1));
      }
    }
    return t;
  }
  static constexpr Table table = make();
};

/// Appends the sum of a gradient and those of the batches before, and returns it: the gradient itself, if the optimizer
/// updates in every step.
template <class Net, class Optimizer>
constexpr int append_sum(Builder& b, int entry, int gradient) {
  if constexpr (!nn::detail::accumulates<Optimizer>) return gradient;
  else {
    using Layout = StateLayout<Net, Optimizer>;
    constexpr int slot = Optimizer::sum_slot;
    b.scope = entry;
    b.location = {};
    const int sum = b.leaf(&info<ops::StateLeaf>, Layout::slot_type(slot, Structure<Net>::table.entry[entry].dims),
                           std::uint64_t(Layout::table.slot[entry][slot]));
    const int first = b.leaf(&info<ops::StateLeaf>, type_of<float, Shape<>>, first_gradient_state);
    const int result = b.template call<ops::AccumulateGradient>(NoConfig{}, sum, gradient, first);
    b.scope = 0;
    return result;
  }
}
/// The flag that keeps updates back, as a value of a trace.
constexpr int overflow_flag(Builder& b) {
  return b.leaf(&info<ops::StateLeaf>, type_of<std::int32_t, Shape<>>, std::uint64_t(overflow_state));
}

/// Appends a look at a gradient. `flag` is the flag as the last look left it, or -1; returns what it is now.
constexpr int append_check(Builder& b, int entry, int flag, int gradient) {
  if (flag < 0) flag = overflow_flag(b);
  b.scope = entry;
  b.location = {};
  flag = b.template call<ops::OverflowCheck>(NoConfig{}, flag, gradient);
  b.scope = 0;
  return flag;
}

/// Whether a network has parameters whose gradients are of rows (nn::EmbeddingLookup).
template <class Net>
inline constexpr bool has_tables = [] {
  bool any = false;
  for (int e = 0; e < Structure<Net>::count; ++e) any = any || Structure<Net>::table.entry[e].of_rows;
  return any;
}();

/// Whether ranks have slices of a network's parameters (nn/parallel).
template <class Net>
inline constexpr bool has_slices = Structure<Net>::counts.slices > 0;

/// The group of the slices; all have one, or there is an error.
template <class Net>
constexpr SliceEntry group_of_slices(Builder& b) {
  SliceEntry first;
  for (int e = 0; e < Structure<Net>::count; ++e) {
    const SliceEntry slice = Structure<Net>::slice(e);
    if (slice.slices == 1) continue;
    if (first.slices > 1 && slice.group != first.group)
      b.fail(Sentence{} << "the parameters of a network are in slices of two groups: a Model needs them in one");
    first = slice;
  }
  return first;
}

/// Appends the optimizer's update of one parameter, with the gradient as `clip` leaves it. It waits for `flag` and does
/// not happen if that is set; -1: no flag.
template <class Net, class Optimizer, nn::Clipping clipping>
constexpr void append_update(Builder& b, int entry, int parameter, int gradient, nn::detail::TracedClip<clipping>& clip,
                             int flag) {
  using Layout = StateLayout<Net, Optimizer>;
  int slot[nn::max_slots]{};
  b.scope = entry;
  b.location = {};
  for (int s = 0; s < Optimizer::slots; ++s)
    if (const TensorType type = Layout::slot_type(s, Structure<Net>::table.entry[entry].dims); type.count(1) > 0)
      slot[s] = b.leaf(&info<ops::StateLeaf>, type, std::uint64_t(Layout::table.slot[entry][s]));
  int numbers = b.leaf(&info<ops::StateLeaf>, nn::numbers_type, std::uint64_t(Layout::table.numbers[entry]));
  numbers = clip.numbers(b, numbers, gradient, Structure<Net>::slice(entry));
  if constexpr (has_slices<Net> && requires { Optimizer::whole_parameters; })
    if (Structure<Net>::slice(entry).slices > 1)
      b.fail(Sentence{} << Optimizer::name << " looks at a whole parameter, of which each rank has a slice: take "
                        << "another optimizer, such as nn::AdamWeightDecay");
  gradient = clip.gradient(b, gradient);
  if (flag >= 0) numbers = b.template call<ops::Guard>(NoConfig{}, numbers, flag);
  if constexpr (has_tables<Net> && requires { Optimizer::update_rows(b, parameter, gradient, slot, numbers); }) {
    if (Structure<Net>::table.entry[entry].of_rows) Optimizer::update_rows(b, parameter, gradient, slot, numbers);
    else Optimizer::update(b, parameter, gradient, slot, numbers);
  } else {
    Optimizer::update(b, parameter, gradient, slot, numbers);
  }
  b.scope = 0;
}

/// A trained parameter in a trace, and its gradient.
struct EntryGradient {
  int entry = 0, parameter = 0, gradient = 0;
};
/// Those of a network, in the order of its entries. No std::vector: that is 60 functions.
template <class Net>
struct EntryGradients {
  EntryGradient one[Structure<Net>::count + 1];
  int count = 0;

  constexpr void add(EntryGradient last) { one[count++] = last; }
  constexpr EntryGradient* begin() { return one; }
  constexpr EntryGradient* end() { return one + count; }
};
/// The parameters that have a gradient, of which `node` has the node for each entry, or -1.
template <class Net>
constexpr EntryGradients<Net> gradients_of(const Builder& b, const std::vector<int>& node) {
  EntryGradients<Net> all;
  for (int e = 0; e < Structure<Net>::count; ++e)
    if (node[std::size_t(e)] >= 0) all.add({e, b.parameter_node(e), node[std::size_t(e)]});
  return all;
}
/// Appends the updates of all trained parameters, in the order of the entries, and what comes between them and the
/// gradients: sums over batches, the look for overflow, clipping.
template <class Net, class Optimizer, bool drops_overflow>
constexpr void append_updates(Builder& b, EntryGradients<Net>& all) {
  int flag = -1;
  for (EntryGradient& one : all) one.gradient = append_sum<Net, Optimizer>(b, one.entry, one.gradient);
  if constexpr (drops_overflow)
    for (const EntryGradient& one : all) flag = append_check(b, one.entry, flag, one.gradient);
  else if constexpr (nn::detail::accumulates<Optimizer>) flag = overflow_flag(b);
  nn::detail::TracedClip<nn::detail::clipping_of<Optimizer>> clip;
  for (const EntryGradient& one : all)
    clip.see(b, one.entry, one.gradient, Structure<Net>::slice(one.entry).slices > 1);
  if constexpr (has_slices<Net>) {
    const SliceEntry slices = group_of_slices<Net>(b);
    if (flag >= 0) flag = slices.agree(b, flag);
    clip.join(b, slices);
  }
  for (const EntryGradient& one : all)
    append_update<Net, Optimizer>(b, one.entry, one.parameter, one.gradient, clip, flag);
}

/// The bytes of a training state.
class TrainState {
 public:
  TrainState(long bytes, std::uint64_t seed)
      : TrainState(bytes, seed, TargetBytes(std::size_t(bytes), "the moments of an optimizer")) {}
  /// In memory of the caller, which is zeros.
  TrainState(long bytes, std::uint64_t seed, std::byte* zeros) : bytes_(bytes), address_(zeros) { random()[0] = seed; }
  /// For kernels.
  std::byte* address() const { return address_; }
  /// For the host, all of it or a part: what it reads between steps passes here.
  std::byte* data() const { return detail::home(address()); }
  std::byte* data(long offset, std::size_t bytes, detail::Look look) const {
    return detail::home(address() + offset, bytes, look);
  }
  long bytes() const { return bytes_; }
  /// Seed and step, counted from 0.
  std::uint64_t* random(detail::Look look = detail::Look::change) const {
    return reinterpret_cast<std::uint64_t*>(data(0, 2 * sizeof(std::uint64_t), look));
  }
  long step() const { return long(random(detail::Look::read)[1]); }
  void advance() { ++random()[1]; }
  void loss_scale(float scale) { write(loss_scale_state, scale); }
  float loss_scale() const { return read<float>(loss_scale_state); }
  void gradient_clip(float most) { write(gradient_clip_state, most); }
  void gradient_squares(double sum) { write(gradient_squares_state, sum), write(slice_squares_state, sum); }
  void first_gradient(bool first) { write(first_gradient_state, static_cast<float>(first)); }
  /// Which flags of requires_grad() the sums over batches follow.
  unsigned flags_version = 0;
  void overflow(std::int32_t flag) { write(overflow_state, flag); }
  std::int32_t overflow() const { return read<std::int32_t>(overflow_state); }
  /// What the update of one parameter reads. On a second target numbers that are the same stay where they are.
  void numbers(long offset, const nn::Numbers& n) {
    if constexpr (several_targets)
      if (std::memcmp(data(offset, sizeof n, detail::Look::read), &n, sizeof n) == 0) return;
    std::memcpy(data(offset, sizeof n, detail::Look::overwrite), &n, sizeof n);
  }

 private:
  TrainState(long bytes, std::uint64_t seed, TargetBytes data)
      : bytes_(bytes), data_(std::move(data)), address_(data_.address()) {
    std::memset(address(), 0, std::size_t(bytes));
    random()[0] = seed;
  }
  template <class T>
  T read(long offset) const {
    return *reinterpret_cast<const T*>(data(offset, sizeof(T), detail::Look::read));
  }
  template <class T>
  void write(long offset, T value) {
    *reinterpret_cast<T*>(data(offset, sizeof(T), detail::Look::overwrite)) = value;
  }

  long bytes_;
  TargetBytes data_{};
  std::byte* address_;
};

namespace detail {
/// The moments in a training state, by name: "moments.conv1.weight".
template <class Net, class Optimizer>
std::vector<io::NamedTensor> named_state(const TrainState& state, Look look = Look::change) {
  using Layout = StateLayout<Net, Optimizer>;
  std::vector<io::NamedTensor> result;
  if constexpr (Optimizer::slots > 0)
    for (int s = 0; s < Optimizer::slots; ++s)
      for (int e = 0; e < Layout::entries; ++e) {
        const Entry* table = Structure<Net>::table.entry;
        const TensorType type = Layout::slot_type(s, table[e].dims);
        if (!Layout::table.numbers[e] || type.count(1) == 0) continue;
        result.push_back({text(Optimizer::slot_names[std::size_t(s)], ".", parameter_name(table, e)),
                          AnyTensor(type, 1, state.data(Layout::table.slot[e][s], std::size_t(type.bytes(1)), look))});
      }
  return result;
}

/// Sets all elements of a slot.
[[gnu::cold]] void fill_slot(const AnyTensor& slot, float value);

/// Gives the moments of a new training state the values that the optimizer starts with. `elsewhere`, if not null: a
/// flag per entry, whose moments stay as they are.
template <class Net, class Optimizer>
void fill_state(const TrainState& state, const Optimizer& optimizer, const bool* elsewhere = nullptr) {
  if constexpr (requires { optimizer.initial(0); }) {
    using Layout = StateLayout<Net, Optimizer>;
    for (int e = 0; e < Layout::entries; ++e)
      for (int s = 0; s < Optimizer::slots; ++s)
        if (Layout::table.numbers[e] && !(elsewhere && elsewhere[e]))
          fill_slot(AnyTensor(Layout::slot_type(s, Structure<Net>::table.entry[e].dims), 1,
                              state.data() + Layout::table.slot[e][s]),
                    optimizer.initial(s));
  }
}

#if TENON_DEFINES
TENON_INLINE void fill_slot(const AnyTensor& slot, float value) {
  const auto fill = [&]<class T>(T element) {
    for (long i = 0; i < slot.count(); ++i) static_cast<T*>(slot.data)[i] = element;
  };
  switch (slot.dtype) {
    case Dtype::float16: return fill(float16(value));
    case Dtype::bfloat16: return fill(bfloat16(value));
    case Dtype::float64: return fill(double(value));
    default: return fill(value);
  }
}
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon
TENON_INT_SIZES_END
