// Bundles: several values as one, for nodes with more operands than a call has. Only control flow makes them.
#pragma once
#include <tenon/ops/accumulate.hpp>
#include <tenon/ops/control/kernels.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

/// What a bundle has: floating-point values that depend on n, those that do not, or bytes of all other values. Slices
/// are those of the first kind of which each turn of a loop gets a part.
enum class BundleKind : int { batch, fixed, other, slices };
inline constexpr int bundle_kinds = 4, result_kinds = 3;

/// Where a value is in its bundle: `batched` n + `fixed` bytes after its begin.
struct BundlePlace {
  int batched = 0, fixed = 0;
  constexpr long bytes(long n) const { return long(batched) * n + fixed; }
};

/// The bytes of a bundle, as its values are added.
struct BundleSize {
  BundlePlace end{};
  int members = 0;
  bool batched = false;
  TensorType only{};  // of the first

  constexpr BundlePlace add(const TensorType& type) {
    const BundlePlace place = end;
    (type.batched() ? end.batched : end.fixed) += int(aligned(type.bytes(1)));
    batched |= type.batched();
    if (!members++) only = type;
    return place;
  }
  /// The type of the bundle: one value is its own, several are rows of numbers, or of bytes.
  constexpr TensorType type(BundleKind kind) const {
    const Dtype dtype = kind == BundleKind::other ? Dtype::uint8 : only.dtype;
    const long bytes = members == 1 && kind != BundleKind::other ? only.bytes(1) : end.bytes(1);
    TensorType t{{}, 0, dtype};
    if (batched) t.extent[t.rank++] = dyn;
    t.extent[t.rank++] = int(bytes / long(size_of(dtype)));
    return t;
  }
};

constexpr BundleKind bundle_kind(const TensorType& type, bool sliced = false) {
  if (!is_floating(type.dtype)) return BundleKind::other;
  return !type.batched() ? BundleKind::fixed : sliced ? BundleKind::slices : BundleKind::batch;
}

/// A value in a bundle: its place and its type as settings.
struct BundleItem {
  int batched = 0, fixed = 0, dtype = 0, rank = 0, extent[max_rank]{};

  static constexpr BundleItem of(const BundlePlace& place, const TensorType& type) {
    BundleItem item{place.batched, place.fixed, int(type.dtype), type.rank, {}};
    for (int axis = 0; axis < type.rank; ++axis) item.extent[axis] = type.extent[axis];
    return item;
  }
  constexpr TensorType type() const {
    TensorType t{{}, rank, static_cast<Dtype>(dtype)};
    for (int axis = 0; axis < rank; ++axis) t.extent[axis] = extent[axis];
    return t;
  }
  TENON_DEVICE constexpr long begin(long n) const { return long(batched) * n + fixed; }
};

/// dy at its place in a bundle of zeros. Operands: dy, and the bundle, of which only the type counts. Not for users.
struct UnpackGrad : Operator<UnpackGrad, "UnpackGrad"> {
  using Config = BundleItem;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[1]; }
};

/// A value of a bundle. Not for users.
struct Unpack : Operator<Unpack, "Unpack"> {
  using Config = BundleItem;
  static constexpr TensorType shape(const OperandTypes&, const Config& c, Sentence&) { return c.type(); }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<UnpackGrad>(d.config<Unpack>(), d.gradient(), d.operand(0)));
  }
};

/// Values of one kind as a bundle. Not for users.
struct Pack : Operator<Pack, "Pack"> {
  struct Config {
    int kind = 0;
  };
  static constexpr BundleKind kind_of(const Config& c) { return static_cast<BundleKind>(c.kind); }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    BundleSize size;
    for (int k = 0; k < in.count; ++k) size.add(in[k]);
    size.members += 2;  // its bytes are those of whole blocks, also of one
    return size.type(kind_of(c));
  }
  static constexpr void derivative(Derivative& d) {
    BundleSize size;
    for (int k = 0; k < d.operands(); ++k) {
      const BundlePlace place = size.add(d.type(k));
      if (is_floating(d.type(k).dtype))
        d.flows_to(k, d.call_with<Unpack>(BundleItem::of(place, d.type(k)), d.gradient()));
    }
  }
};

namespace detail {
/// The values as one node: themselves, or a bundle of bundles.
constexpr int packed(Builder& b, const std::vector<int>& values, BundleKind kind) {
  std::vector<int> nodes(values);
  bool done = nodes.size() == 1;
  while (!done) {
    int made = 0;
    for (std::size_t i = 0; i < nodes.size(); i += std::size_t(max_operands)) {
      const int count = int(nodes.size() - i) < max_operands ? int(nodes.size() - i) : max_operands;
      nodes[std::size_t(made++)] = b.call_list<Pack>({int(kind)}, nodes.data() + i, count);
    }
    nodes.resize(std::size_t(made));
    done = made == 1;
  }
  return nodes[0];
}
}  // namespace detail

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {

namespace kernel {
template <class Target>
template <class Call>
void PackKernel<Target>::run(const Arguments& a, long, long) {
  ops::BundleSize size;
  std::byte* const to = a.result<std::byte>();
  for (int k = 0; k < Call::operands; ++k) {
    const TensorType& type = Call::operand(k);
    std::byte* const begin = to + size.add(type).bytes(a.n);
    const long bytes = type.bytes(a.n), all = long(aligned(type.bytes(1))) * (type.batched() ? a.n : 1);
    Moves<Target>::copy(begin, a.operand<std::byte>(k), bytes);
    if (all > bytes) Moves<Target>::clear(begin + bytes, all - bytes);
  }
}
template <class Target>
template <class Call>
void UnpackKernel<Target>::run(const Arguments& a, long, long) {
  Moves<Target>::copy(a.result<std::byte>(), a.operand<std::byte>(0) + Call::config().begin(a.n),
                      Call::result.bytes(a.n));
}
template <class Target>
template <class Call>
void UnpackGradKernel<Target>::run(const Arguments& a, long, long) {
  const long begin = Call::config().begin(a.n), bytes = Call::operand(0).bytes(a.n), end = begin + bytes,
             all = Call::result.bytes(a.n);
  std::byte* const to = a.result<std::byte>();
  if (begin) Moves<Target>::clear(to, begin);
  Moves<Target>::copy(to + begin, a.operand<std::byte>(0), bytes);
  if (all > end) Moves<Target>::clear(to + end, all - end);
}
}  // namespace kernel

}  // namespace tenon
