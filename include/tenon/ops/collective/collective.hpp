// What operators among ranks share: their group, by its name in the type, and a kernel that is one call.
#pragma once
#include <tenon/core/text/fixed_string.hpp>
#include <tenon/dist/world.hpp>
#include <tenon/ops/accumulate.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Base of operators that all ranks of a group call together. They run when the source calls them in PyNative mode; a
/// graph has them in one order, which is that of all ranks, as all have the same graph. The kernel is the CPU's; GPUs
/// have those of <tenon/backend/cuda/nccl.hpp>.
///
/// gradients  are those of the sum of the ranks' losses
/// errors     RuntimeError before dist::init, outside of the group, if ranks call with other sizes
template <class Op, FixedString Name, FixedString group>
struct Collective : Operator<Op, Name> {
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  static dist::Communicator ranks() { return dist::communicator(group.view()); }
  /// Throws ValueError if the group does not have `wanted` ranks.
  static dist::Communicator ranks(int wanted) {
    dist::Communicator found = ranks();
    if (found.size() != wanted)
      throw_error<ValueError>(Op::name, " is for ", wanted, " ranks, and the group '", group.view(), "' has ",
                              found.size(), ".");
    return found;
  }

 protected:
  template <class Call>
  static std::span<const typename Call::Result> operand(const Arguments& a) {
    return {a.operand<typename Call::Result>(0), std::size_t(Call::operand(0).count(a.n))};
  }
  template <class Call>
  static std::span<typename Call::Result> result(const Arguments& a) {
    return {a.result<typename Call::Result>(), std::size_t(Call::result.count(a.n))};
  }
};

namespace detail {
/// The sentence for what adds or compares numbers.
constexpr void refuse_bool(const char* who, const TensorType& x, Sentence& error) {
  if (x.dtype == Dtype::bool_) error << who << " needs numbers, got bool " << x << ": cast it";
}
}  // namespace detail

}  // namespace tenon::ops
