// The operators among ranks on a GPU (ops/collective): their bytes go from GPU to GPU.
#pragma once
#include <tenon/backend/cuda/nccl/collectives.hpp>
#include <tenon/core/text/fixed_string.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
template <FixedString group>
struct AllGather;
template <FixedString group>
struct AllReduce;
template <FixedString group>
struct AllToAll;
template <FixedString group>
struct Broadcast;
template <FixedString group>
struct NeighborExchange;
template <FixedString group>
struct ProductOfOthers;
template <FixedString group>
struct ReduceScatter;
template <FixedString group>
struct ReduceTo;
template <FixedString group>
struct SendReceive;
}  // namespace ops

namespace kernel::cuda {

/// Base of the kernels. The host makes these calls one by one, between the other kernels of a step, and waits for them:
/// they are no part of a CUDA graph, which all ranks would have to record at the same time.
struct AmongRanks : Whole {
  static constexpr bool meets_ranks = true;

 protected:
  using Called = dist::detail::Called;
  template <class C>
  static std::size_t bytes(const Arguments& a) {
    return std::size_t(operand_count<C, 0>(a.n)) * sizeof(typename C::Result);
  }
  /// The call as those on the CPU name it.
  template <class C>
  static Called called(Called::Kind kind, int what, const Arguments& a, bool reduces = false) {
    return {kind, what, reduces ? int(C::result.dtype) : -1, 0, std::int64_t(bytes<C>(a))};
  }
};
template <dist::ReduceOp op>
using FoldOf = std::conditional_t<
    op == dist::ReduceOp::sum, dist::detail::Add,
    std::conditional_t<op == dist::ReduceOp::max, dist::detail::Larger,
                       std::conditional_t<op == dist::ReduceOp::min, dist::detail::Smaller, dist::detail::Multiply>>>;

struct AllReduceAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    constexpr dist::ReduceOp op = C::config().op;
    NcclCall call(C::Op::ranks(), C::Op::name, called<C>(Called::all_reduce, int(op), a, true));
    all_reduce_there<FoldOf<op>>(call, a.operand<T>(0), a.result<T>(), operand_count<C, 0>(a.n));
    call.wait();
  }
};
/// A thread sets an element to 1.
template <class T>
struct Ones {
  static constexpr int threads = 256;
  T* to;
  long count;
  __device__ void block(const Arguments&) const {
    if (const long i = thread_of_grid(); i < count) to[i] = T(1);
  }
};
struct ProductAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    const long count = operand_count<C, 0>(a.n);
    NcclCall call(C::Op::ranks(), C::Op::name, called<C>(Called::all_gather, 0, a));
    std::byte* const all = NcclCall::room(bytes<C>(a) * std::size_t(call.size()));
    call.gather(a.operand<T>(0), bytes<C>(a), all);
    const Ones<T> own{reinterpret_cast<T*>(all) + long(call.rank()) * count, count};
    launch_blocks(own, a, blocks_for(count, own.threads));
    call.fold<dist::detail::Multiply>(all, a.result<T>(), count);
    call.wait();
  }
};
struct GatherAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    NcclCall call(C::Op::ranks(C::config().ranks), C::Op::name, called<C>(Called::all_gather, 0, a));
    call.gather(a.operand<T>(0), bytes<C>(a), reinterpret_cast<std::byte*>(a.result<T>()));
    call.wait();
  }
};
struct ScatterAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    NcclCall call(C::Op::ranks(C::config().ranks), C::Op::name, called<C>(Called::reduce_scatter, 0, a, true));
    reduce_scatter_there<dist::detail::Add>(call, a.operand<T>(0), a.result<T>(), result_count<C>(a.n));
    call.wait();
  }
};
/// Throws ValueError if the group does not have the rank.
inline void check_root(std::string_view op, const dist::Communicator& group, int root) {
  if (root >= group.size())
    throw_error<ValueError>(op, " with rank ", root, ": the group has the ranks 0 to ", group.size() - 1, ".");
}
struct BroadcastAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    constexpr int root = C::config().root;
    check_root(C::Op::name, C::Op::ranks(), root);
    NcclCall call(C::Op::ranks(), C::Op::name, called<C>(Called::broadcast, root, a));
    broadcast_there(call, a.operand<T>(0), a.result<T>(), bytes<C>(a), root);
    call.wait();
  }
};
struct ReduceToAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    constexpr int root = C::config().root;
    check_root(C::Op::name, C::Op::ranks(), root);
    NcclCall call(C::Op::ranks(), C::Op::name, called<C>(Called::all_reduce, int(dist::ReduceOp::sum), a, true));
    reduce_to_there(call, a.operand<T>(0), a.result<T>(), operand_count<C, 0>(a.n), root);
    call.wait();
  }
};
struct TurnAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    constexpr typename C::Op::Config c = C::config();
    NcclCall call(C::Op::ranks(c.ranks), C::Op::name,
                  called<C>(Called::all_to_all, c.split_axis << 8 | c.concat_axis, a));
    std::byte* const sent = NcclCall::room(2 * bytes<C>(a));
    std::byte* const received = sent + bytes<C>(a);
    auto* const x = reinterpret_cast<std::byte*>(const_cast<T*>(a.operand<T>(0)));
    copy_parts<c.ranks>(sent, x, rows_before<c.split_axis>(C::operand(0), a.n), bytes<C>(a), false);
    call.turn(sent, bytes<C>(a) / std::size_t(c.ranks), received);
    copy_parts<c.ranks>(received, reinterpret_cast<std::byte*>(a.result<T>()),
                        rows_before<c.concat_axis>(C::result, a.n), bytes<C>(a), true);
    call.wait();
  }

 private:
  template <int axis>
  static long rows_before(const TensorType& t, long n) {
    long rows = 1;
    for (int i = 0; i < axis; ++i) rows *= t.size(i, n);
    return rows;
  }
  // Between parts of which each has `outer` rows, and `outer` lines that have a row of each part.
  template <int parts>
  static void copy_parts(std::byte* whole, std::byte* lines, long outer, std::size_t bytes, bool to_lines) {
    if (outer == 0 || bytes == 0) return;
    const std::size_t row = bytes / std::size_t(outer * parts), line = row * parts;
    for (int part = 0; part < parts; ++part) {
      std::byte* const in_part = whole + std::size_t(part * outer) * row;
      std::byte* const in_line = lines + std::size_t(part) * row;
      copy_there_by_rows(to_lines ? in_line : in_part, to_lines ? line : row, to_lines ? in_part : in_line,
                         to_lines ? row : line, row, std::size_t(outer));
    }
  }
};
struct NeighborsAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    NcclCall call(C::Op::ranks(), C::Op::name, called<C>(Called::neighbor_exchange, C::config().offset, a));
    const int size = call.size(), offset = (C::config().offset % size + size) % size;
    if (offset == 0) return call.copy(a.result<T>(), a.operand<T>(0), bytes<C>(a));
    call.send((call.rank() + offset) % size, a.operand<T>(0), bytes<C>(a));
    call.receive((call.rank() + size - offset) % size, a.result<T>(), bytes<C>(a));
    call.exchange();
    call.wait();
  }
};
struct SendAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    constexpr typename C::Op::Config c = C::config();
    constexpr int sender = c.backward ? c.to : c.from, receiver = c.backward ? c.from : c.to;
    check_root(C::Op::name, C::Op::ranks(), c.from > c.to ? c.from : c.to);
    NcclCall call(C::Op::ranks(), C::Op::name, called<C>(Called::send_receive, sender << 16 | receiver, a));
    const T* const x = a.operand<T>(0);
    T* const y = a.result<T>();
    const bool sends = call.rank() == sender, receives = call.rank() == receiver;
    if (c.from == c.to || !(receives && !c.backward)) call.copy(y, x, bytes<C>(a));
    if constexpr (c.from == c.to) return;
    std::byte* const got = receives && c.backward ? NcclCall::room(bytes<C>(a)) : reinterpret_cast<std::byte*>(y);
    if (sends) call.send(receiver, x, bytes<C>(a));
    if (receives) call.receive(sender, got, bytes<C>(a));
    call.exchange();
    if constexpr (c.backward && !std::is_same_v<T, bool>) {
      const dist::detail::TreeNode nodes[]{{0, 1, reinterpret_cast<const std::byte*>(x)}, {1, 1, got}};
      if (receives) fold_there<dist::detail::Add>(2, nodes, y, operand_count<C, 0>(a.n));
      if (sends) check(cudaMemsetAsync(y, 0, bytes<C>(a), queues().kernels), "zeros on the GPU");
    }
    call.wait();
  }
};

}  // namespace kernel::cuda

template <FixedString group>
struct Kernel<Cuda, ops::AllGather<group>> : kernel::cuda::GatherAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::AllReduce<group>> : kernel::cuda::AllReduceAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::AllToAll<group>> : kernel::cuda::TurnAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::Broadcast<group>> : kernel::cuda::BroadcastAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::NeighborExchange<group>> : kernel::cuda::NeighborsAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::ProductOfOthers<group>> : kernel::cuda::ProductAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::ReduceScatter<group>> : kernel::cuda::ScatterAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::ReduceTo<group>> : kernel::cuda::ReduceToAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::SendReceive<group>> : kernel::cuda::SendAmongRanks {};

}  // namespace tenon
