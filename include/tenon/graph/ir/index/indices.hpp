// Operands whose elements are places in another tensor: they are looked at before a kernel uses them.
#pragma once
#include <cstdint>
#include <type_traits>

#include <tenon/core/error.hpp>
#include <tenon/graph/ir/node.hpp>
#include <tenon/graph/ir/operator.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {

/// The first element outside of low .. high - 1, or `count`. The usual answer takes one pass without branches, in
/// blocks of which compilers make vectors.
template <class I>
[[gnu::noinline]] long first_outside(const I* numbers, long count, long low, long high) {
  using Distance = std::make_unsigned_t<I>;  // from the least one: of a number below it larger than any inside
  constexpr long block = 16;
  const I least = static_cast<I>(low), most = static_cast<I>(high - 1);
  const auto from_least = [least](I one) { return static_cast<Distance>(Distance(one) - Distance(least)); };
  const long whole = count - count % block;
  Distance largest[block]{};
  for (long i = 0; i < whole; i += block)
    for (long l = 0; l < block; ++l) {
      const Distance distance = from_least(numbers[i + l]);
      largest[l] = distance > largest[l] ? distance : largest[l];
    }
  bool outside = high <= low;
  for (long l = 0; l < block; ++l) outside |= largest[l] > from_least(most);
  for (long i = whole; i < count; ++i) outside |= from_least(numbers[i]) > from_least(most);
  long at = outside ? 0 : count;
  while (at < count && numbers[at] >= least && numbers[at] <= most) ++at;
  return at;
}

[[noreturn, gnu::cold]] void refuse_index(std::string_view op, const IndexRange& range, const TensorType& type,
                                          const TensorType& among, long at, long long number, long n);

/// Throws ValueError for the first of an operand's elements that is outside of its range. `type` is that of the
/// operand, `among` that of the tensor in which they are places.
void check_indices(std::string_view op, const IndexRange& range, const TensorType& type, const TensorType& among,
                   const void* numbers, long n);

/// True if no element of the operand can be outside of its range, because of the operator that computes it. Then the
/// host has nothing to look at, for which it would have to wait.
bool are_inside(const Node* nodes, const Node& call, const IndexRange& range);

/// What a call says of a batch of n that is smaller than the least one. `where`: as " in step 3 (epoch 1)".
[[noreturn, gnu::cold]] void refuse_batch(const LeastBatch& least, long n, std::string_view where = "");

}  // namespace detail
#if TENON_DEFINES
namespace detail {
[[gnu::noinline]] TENON_INLINE void refuse_index(std::string_view op, const IndexRange& range, const TensorType& type,
                                                 const TensorType& among, long at, long long number, long n) {
  Sentence place, shape;
  for (int axis = 0; axis < type.rank; ++axis) {
    long behind = 1;
    for (int k = axis + 1; k < type.rank; ++k) behind *= type.size(k, n);
    place << (axis ? "," : " at [") << at / behind % type.size(axis, n) << (axis + 1 < type.rank ? "" : "]");
  }
  shape << among;
  throw_error<ValueError>(op, ": ", range.number, " ", number, place.view(), " is outside of ", range.low, " .. ",
                          range.high - 1, ", the ", range.high, " ", range.have, " ", shape.view(), ". Correct the ",
                          range.number, ", or ", range.advice, ".");
}
[[gnu::noinline]] TENON_INLINE void check_indices(std::string_view op, const IndexRange& range, const TensorType& type,
                                                  const TensorType& among, const void* numbers, long n) {
  const long count = type.count(n);
  const auto look = [&]<class I>(const I* of_type) {
    if (const long at = first_outside(of_type, count, range.low, range.high); at < count)
      refuse_index(op, range, type, among, at, of_type[at], n);
  };
  if (type.dtype == Dtype::int64) look(static_cast<const std::int64_t*>(numbers));
  else look(static_cast<const std::int32_t*>(numbers));
}
[[gnu::noinline, gnu::cold]] TENON_INLINE bool are_inside(const Node* nodes, const Node& call,
                                                          const IndexRange& range) {
  const Node* from = nodes + call.operand[range.operand];
  while (from->op->view) from = nodes + from->operand[0];
  if (!from->op->gives_places) return false;
  const TensorType& among = nodes[from->operand[0]].type;
  return among.batched() == from->type.batched() && range.low <= 0 &&
         among.count(1) <= range.high * from->type.count(1);
}
[[gnu::noinline]] TENON_INLINE void refuse_batch(const LeastBatch& least, long n, std::string_view where) {
  throw_error<ValueError>(least.who, " needs ", least.needs, ", got a batch of ", n, where, ". Use ", least.n,
                          " samples or more, leave out the rest of the data (batch<N>() does), or evaluate.");
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
