// Collectives in the memory of GPUs, by sends and receives of NCCL, with the bits of those of dist/collectives.hpp.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include <tenon/backend/cuda/lane_memory.hpp>
#include <tenon/backend/cuda/nccl/ranks.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// A collective of a group: what all ranks call. They tell each other so by MPI first, since NCCL would take the bytes
/// of one call for those of another, or wait for ever. All addresses are in the memory of the GPU.
class NcclCall {
 public:
  using Part = dist::detail::DeviceRanks::Part;

  /// Throws RuntimeError if the group does not send by NCCL, or if the ranks call different collectives.
  NcclCall(const dist::Communicator& group, std::string_view op, const dist::detail::Called& called);
  NcclCall(const NcclCall&) = delete;
  NcclCall& operator=(const NcclCall&) = delete;

  int rank() const { return ranks_->rank(); }
  int size() const { return ranks_->size(); }
  /// For this call alone.
  static std::byte* room(std::size_t bytes) { return LaneMemory::take(LaneMemory::ranks, bytes ? bytes : 1); }
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (bytes > 0 && to != from) ranks_->copy_there(to, from, bytes);
  }

  void send(int peer, const void* data, std::size_t bytes) {
    sent_.push_back({peer, static_cast<std::byte*>(const_cast<void*>(data)), bytes});
  }
  void receive(int peer, void* data, std::size_t bytes) {
    received_.push_back({peer, static_cast<std::byte*>(data), bytes});
  }
  /// All that send() and receive() have named.
  void exchange() {
    ranks_->exchange_there(sent_, received_);
    sent_.clear(), received_.clear();
  }
  /// Returns when all is done.
  void wait() { ranks_->wait(); }
  template <class F>
  void each_other(F f) const {
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank()) f(peer);
  }

  /// Part p of `all` = the bytes of rank p.
  void gather(const void* mine, std::size_t bytes, std::byte* all) {
    each_other([&](int peer) { send(peer, mine, bytes), receive(peer, all + std::size_t(peer) * bytes, bytes); });
    exchange();
    copy(all + std::size_t(rank()) * bytes, mine, bytes);
  }
  /// Part p of `to` = part rank() of rank p's `from`.
  void turn(const std::byte* from, std::size_t bytes, std::byte* to) {
    each_other([&](int peer) {
      send(peer, from + std::size_t(peer) * bytes, bytes), receive(peer, to + std::size_t(peer) * bytes, bytes);
    });
    exchange();
    copy(to + std::size_t(rank()) * bytes, from + std::size_t(rank()) * bytes, bytes);
  }
  /// out[0 .. count) = what Op makes of the parts of all ranks, which are one after the other.
  template <class Op, class T>
  void fold(const std::byte* parts, T* out, long count) const {
    std::vector<dist::detail::TreeNode> nodes;
    for (int from = 0; from < size(); ++from) nodes.push_back({from, 1, parts + long(from) * count * long(sizeof(T))});
    fold_there<Op>(size(), nodes, out, count);
  }

 private:
  NcclRanks* ranks_;
  std::vector<Part> sent_, received_;
};

inline NcclCall::NcclCall(const dist::Communicator& group, std::string_view op, const dist::detail::Called& called)
    : ranks_(static_cast<NcclRanks*>(group.device_ranks())) {
  if (!ranks_)
    throw_error<RuntimeError>(op, " on GPU needs dist::init(\"nccl\"): the ranks of its group send by MPI, from the "
                                  "memory of the host.");
  dist::detail::gather_for(group, called, {}, [](int, std::span<std::byte>& none) { none = {}; });
}

/// Copies rows from one tensor to another, each of which may have longer ones. Rows of more than cudaDevAttrMaxPitch
/// (2 GB) are few, and copied one by one.
inline void copy_there_by_rows(std::byte* to, std::size_t to_row, const std::byte* from, std::size_t from_row,
                               std::size_t bytes, std::size_t rows) {
  if (bytes == 0 || rows == 0) return;
  const cudaStream_t stream = queues().kernels;
  int most_pitch = 0;
  check(cudaDeviceGetAttribute(&most_pitch, cudaDevAttrMaxPitch, device_of_thread()), "cudaDeviceGetAttribute");
  const bool at_once = std::max(to_row, from_row) <= std::size_t(most_pitch);
  for (std::size_t row = 0; row < (at_once ? 1 : rows); ++row)
    check(at_once ? cudaMemcpy2DAsync(to, to_row, from, from_row, bytes, rows, cudaMemcpyDeviceToDevice, stream)
                  : cudaMemcpyAsync(to + row * to_row, from + row * from_row, bytes, cudaMemcpyDeviceToDevice, stream),
          "a copy on the GPU");
}

/// out = the reduction of part rank() of all ranks' `in`, which has size() parts of `count` elements.
template <class Op, class T>
void reduce_scatter_there(NcclCall& call, const T* in, T* out, long count) {
  const std::size_t bytes = std::size_t(count) * sizeof(T);
  std::byte* const parts = NcclCall::room(bytes * std::size_t(call.size()));
  call.turn(reinterpret_cast<const std::byte*>(in), bytes, parts);
  call.fold<Op>(parts, out, count);
}
/// out = the reduction of all ranks' `in`, with the same bits on all of them.
template <class Op, class T>
void all_reduce_there(NcclCall& call, const T* in, T* out, long count) {
  const auto range = [&](int rank) { return dist::part_of(count, call.size(), rank); };
  const dist::ShardRange mine = range(call.rank());
  const std::size_t bytes = std::size_t(mine.size()) * sizeof(T);
  std::byte* const parts = NcclCall::room(bytes * std::size_t(call.size()));
  call.each_other([&](int peer) {
    call.send(peer, in + range(peer).begin, std::size_t(range(peer).size()) * sizeof(T));
    call.receive(peer, parts + std::size_t(peer) * bytes, bytes);
  });
  call.exchange();
  call.copy(parts + std::size_t(call.rank()) * bytes, in + mine.begin, bytes);
  call.fold<Op>(parts, out + mine.begin, mine.size());
  call.each_other([&](int peer) {
    call.send(peer, out + mine.begin, bytes);
    call.receive(peer, out + range(peer).begin, std::size_t(range(peer).size()) * sizeof(T));
  });
  call.exchange();
}
/// out = the root's `in`.
inline void broadcast_there(NcclCall& call, const void* in, void* out, std::size_t bytes, int root) {
  if (call.rank() != root) call.receive(root, out, bytes);
  else call.each_other([&](int peer) { call.send(peer, in, bytes); });
  call.exchange();
  if (call.rank() == root) call.copy(out, in, bytes);
}
/// out = the sum of all ranks' `in` on the root, zeros on the others.
template <class T>
void reduce_to_there(NcclCall& call, const T* in, T* out, long count, int root) {
  const std::size_t bytes = std::size_t(count) * sizeof(T);
  std::byte* const parts = call.rank() == root ? NcclCall::room(bytes * std::size_t(call.size())) : nullptr;
  if (call.rank() != root) call.send(root, in, bytes);
  else call.each_other([&](int peer) { call.receive(peer, parts + std::size_t(peer) * bytes, bytes); });
  call.exchange();
  if (call.rank() != root) return check(cudaMemsetAsync(out, 0, bytes, queues().kernels), "zeros on the GPU");
  call.copy(parts + std::size_t(root) * bytes, in, bytes);
  call.fold<dist::detail::Add>(parts, out, count);
}

}  // namespace tenon::kernel::cuda
