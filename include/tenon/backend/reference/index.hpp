// Elements by their index, one number per axis: what the loops of the target Reference are written with.
#pragma once
#include <array>

#include <tenon/core/shape.hpp>
#include <tenon/graph/ir/kernel_entry.hpp>
#include <tenon/target/kernel.hpp>

namespace tenon::inline TENON_ABI {
struct Reference;  // also where it is not the target of the program
}

namespace tenon::inline TENON_ABI::kernel::reference {

/// One number per axis, the others 0.
using Index = std::array<long, max_rank>;

/// Where element `i` of a row-major tensor stands: the opposite of place().
constexpr Index index_of(long i, const TensorType& t, long n) {
  Index index{};
  for (int axis = t.rank; axis-- > 0; i /= t.size(axis, n)) index[std::size_t(axis)] = i % t.size(axis, n);
  return index;
}
/// The number of an element in row-major order.
constexpr long place(const Index& index, const TensorType& t, long n) {
  long i = 0;
  for (int axis = 0; axis < t.rank; ++axis) i = i * t.size(axis, n) + index[std::size_t(axis)];
  return i;
}
/// Which element of an operand of type `t` stands beside `index` of a result: axes line up at the end, and along an
/// axis of extent 1 it is the same for all.
constexpr long broadcast_place(const Index& index, const TensorType& result, const TensorType& t, long n) {
  Index own{};
  for (int axis = 0; axis < t.rank; ++axis)
    own[std::size_t(axis)] = t.extent[axis] == 1 ? 0 : index[std::size_t(axis + result.rank - t.rank)];
  return place(own, t, n);
}

/// Base of a kernel that does all of its work at once.
struct Whole {
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
};

}  // namespace tenon::kernel::reference
