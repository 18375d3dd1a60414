// NcclRanks: the ranks of a group, each with one GPU, which send bytes of its memory to each other by NCCL.
#pragma once
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <tenon/backend/cuda/nccl/fold.hpp>
#include <tenon/backend/cuda/nccl/library.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/memory/target_memory.hpp>
#include <tenon/dist/mpi_transport.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// What ranks add is added by kernels of ours (fold.hpp): the order in which ncclAllReduce adds depends on the number
/// of bytes, and on the machine. So NCCL only moves bytes: sends and receives, in groups, in the queue of the kernels.
///
/// No call of NCCL's waits (NcclConfig::blocking): the host looks at the state of NCCL and of the other ranks until the
/// calls are done, and aborts them if one of these has ended, or after the timeout of dist::init.
class NcclRanks final : public dist::detail::DeviceRanks {
 public:
  explicit NcclRanks(dist::detail::MpiTransport& host) : host_(host) {}
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;
  ~NcclRanks() override {
    if (comm_ && !process_ends() && !lost_in_fork) NcclLibrary::instance().comm_abort(comm_);
  }
  /// Set when the process ends, and NCCL may be gone.
  static bool& process_ends() {
    static constinit bool ends = false;
    return ends;
  }

  void begin() override {
    if (!broken_.empty()) throw RuntimeError(broken_);
    if (size() == 1) return;
    const int device = use_current_device();
    if (comm_ && device != device_)
      throw_error<RuntimeError>("Rank ", rank(), " began to send by NCCL on GPU ", device_,
                                ", and now computes on GPU ", device, ": a rank has one GPU.");
    if (!comm_) device_ = device, connect();
  }
  void exchange(std::span<const Part> sent, std::span<const Part> received) override {
    std::vector<Part> from, to;
    const auto find = [](std::vector<Part>& found, std::span<const Part> parts, Use use) {
      for (const Part& part : parts)
        if (part.bytes > 0)  // 0 would be all of the block
          found.push_back({part.peer, there(part.data, use, part.bytes), part.bytes});
    };
    find(from, sent, Use::read), find(to, received, Use::overwrite);
    exchange_there(from, to);
  }
  void sum(bool doubles, int leaves, std::span<const dist::detail::TreeNode> nodes, std::byte* to,
           long count) override {
    if (count == 0) return;
    const std::size_t bytes = std::size_t(count) * (doubles ? sizeof(double) : sizeof(float));
    std::vector<dist::detail::TreeNode> there_nodes(nodes.begin(), nodes.end());
    for (dist::detail::TreeNode& node : there_nodes)
      node.data = there(const_cast<std::byte*>(node.data), Use::read, bytes);
    std::byte* const result = there(to, Use::overwrite, bytes);
    const auto fold = [&]<class T>(T* sums) { fold_there<dist::detail::Add>(leaves, there_nodes, sums, count); };
    in_queue([&] { doubles ? fold(reinterpret_cast<double*>(result)) : fold(reinterpret_cast<float*>(result)); });
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    const std::byte* const source = there(const_cast<std::byte*>(from), Use::read, bytes);
    copy_there(there(to, Use::overwrite, bytes), source, bytes);
  }
  void wait() override {
    if (!std::exchange(waits_, false)) return;
    const cudaStream_t stream = queues().kernels;
    check(cudaEventRecord(after_, stream), "cudaEventRecord");
    wait_for(before_, false);
    wait_for(after_, true);
  }
  void end() override {
    NcclComm const comm = std::exchange(comm_, nullptr);
    if (!comm) return;
    const NcclLibrary& nccl = NcclLibrary::instance();
    int result = nccl.comm_finalize(comm);
    for (const dist::detail::Wait so_far; result == nccl_in_progress && so_far.begin + 5 > dist::detail::Wait::now();) {
      tenon::detail::yield_processor();
      if (const int failed = nccl.comm_get_async_error(comm, &result)) result = failed;
    }
    result == nccl_success ? nccl.comm_destroy(comm) : nccl.comm_abort(comm);
  }

  /// The same with addresses in the memory of the GPU.
  void exchange_there(std::span<const Part> sent, std::span<const Part> received) {
    begin();
    std::size_t bytes = 0;
    for (const std::span<const Part> parts : {sent, received})
      for (const Part& part : parts) bytes += part.bytes;
    if (bytes == 0) return;
    const NcclLibrary& nccl = NcclLibrary::instance();
    const cudaStream_t stream = queues().kernels;
    if (!std::exchange(waits_, true)) check(cudaEventRecord(before_, stream), "cudaEventRecord");
    int result = nccl.group_start();
    const auto add = [&](std::span<const Part> parts, auto call) {
      for (const Part& part : parts)
        if (is_well(result) && part.bytes > 0)
          result = call(part.data, part.bytes, nccl_int8, part.peer, comm_, stream);
    };
    add(sent, nccl.send), add(received, nccl.recv);
    const int ended = nccl.group_end();
    settle(is_well(result) ? ended : result, "an exchange of GPUs");
  }
  void copy_there(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queues().kernels), "a copy on the GPU");
  }
  int rank() const { return host_.rank(); }
  int size() const { return host_.size(); }

 private:
  using Use = tenon::detail::TargetMemory::Use;
  // What a rank tells the others before they connect.
  struct Facts {
    NcclUniqueId id{};
    int version = 0, result = 0, device = 0;
    char gpu[32]{}, host[256]{};
  };
  static constexpr int facts_tag = dist::most_tag + 10;

  static bool is_well(int result) { return result == nccl_success || result == nccl_in_progress; }
  static int use_current_device() {
    const TargetId target = tenon::detail::TargetScope::current();
    if (target != TargetId::cpu) use_device(device_of(target));
    return device_of_thread() < 0 ? 0 : device_of_thread();
  }
  static std::byte* there(std::byte* data, Use use, std::size_t bytes) {
    use_current_device();
    return tenon::detail::TargetMemory::instance().there(tenon::detail::TargetScope::current(), data, use, bytes);
  }
  template <class F>
  static void in_queue(F f) {
    run_with({.stream = queues().kernels, .overlaps = queues().overlaps}, f);
  }

  [[gnu::cold, gnu::noinline]] void connect() {
    const NcclLibrary& nccl = NcclLibrary::instance();
    for (cudaEvent_t* const event : {&before_, &after_})
      if (!*event) check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
    Facts own;
    own.version = nccl.version, own.device = device_;
    if (rank() == 0) own.result = nccl.get_unique_id(&own.id);
    check(cudaDeviceGetPCIBusId(own.gpu, sizeof own.gpu, device_), "cudaDeviceGetPCIBusId");
    ::gethostname(own.host, sizeof own.host - 1);
    const std::vector<Facts> all = told(own);
    compare(all);
    if (all[0].result != nccl_success) refuse(all[0].result, "ncclGetUniqueId of rank 0");
    NcclConfig config;
    settle(nccl.comm_init_rank_config(&comm_, size(), all[0].id, rank(), &config), "the ranks to connect by NCCL");
  }
  // The facts of all ranks, by the messages of the host.
  std::vector<Facts> told(Facts& own) {
    std::vector<Facts> all(std::size_t(size()), own);
    std::vector<dist::Message> messages;
    for (const bool outgoing : {false, true})
      for (int peer = 0; peer < size(); ++peer)
        if (peer != rank())
          messages.push_back({outgoing, peer, facts_tag,
                              reinterpret_cast<std::byte*>(outgoing ? &own : &all[std::size_t(peer)]), sizeof own});
    for (dist::Message& message : messages) host_.start(message);
    std::size_t done = 0;
    try {
      for (; done < messages.size(); ++done) host_.finish(messages[done], true);
    } catch (...) {
      while (++done < messages.size()) host_.give_up(messages[done]);
      throw;
    }
    return all;
  }
  // The same sentence on all ranks.
  static void compare(const std::vector<Facts>& all) {
    for (std::size_t b = 0; b < all.size(); ++b) {
      if (all[b].version != all[0].version)
        throw_error<RuntimeError>("dist::init(\"nccl\"): rank 0 has NCCL ", nccl_version_text(all[0].version),
                                  ", and rank ", b, " has NCCL ", nccl_version_text(all[b].version),
                                  ": install one version on all machines.");
      for (std::size_t a = 0; a < b; ++a)
        if (std::strcmp(all[a].gpu, all[b].gpu) == 0 && std::strcmp(all[a].host, all[b].host) == 0)
          throw_error<RuntimeError>("dist::init(\"nccl\"): ranks ", a, " and ", b, " use one GPU, device_id ",
                                    all[b].device, " (", all[b].gpu, ") of ", all[b].host,
                                    ": NCCL needs one for each rank. Leave device_id and DEVICE_ID to dist::init, or "
                                    "use dist::init(\"mpi\").");
    }
  }

  // Looks at NCCL and the other ranks until calls of NCCL are done, which may have put work into the queue.
  void settle(int result, const char* what) {
    for (dist::detail::Wait so_far; result == nccl_in_progress; tenon::detail::yield_processor()) {
      check_group(so_far, what);
      if (const int failed = NcclLibrary::instance().comm_get_async_error(comm_, &result)) result = failed;
    }
    if (result != nccl_success) refuse(result, what);
  }
  void wait_for(cudaEvent_t event, bool for_ranks) {
    for (dist::detail::Wait so_far;;) {
      for (int turn = 0; turn < 256; ++turn) {
        const cudaError_t error = cudaEventQuery(event);
        if (error == cudaSuccess) return;
        forget(error);
        if (error != cudaErrorNotReady) check(error, "a kernel or copy");
        if (turn > 20) tenon::detail::yield_processor();
      }
      int result = nccl_success;
      if (const int failed = NcclLibrary::instance().comm_get_async_error(comm_, &result)) result = failed;
      if (!is_well(result)) refuse(result, "an exchange of GPUs");
      if (for_ranks) check_group(so_far, "an exchange of GPUs");
    }
  }
  void check_group(dist::detail::Wait& so_far, const char* what) try {
    host_.check_group(so_far, what);
  } catch (const Error& error) {
    give_up(error.what());
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(int result, const char* what) {
    const NcclLibrary& nccl = NcclLibrary::instance();
    const char* const reason = nccl.get_error_string(result);
    const char* const more = nccl.get_last_error(comm_);  // of the process, if there is no communicator yet
    give_up(text("NCCL ", nccl_version_text(nccl.version), " failed on rank ", rank(), " of ", size(),
                 ", which waits for ", what, ": ", reason ? reason : "an unknown error",
                 more && *more ? text(" (", more, ")") : "", ".", nccl_environment(), "; NCCL_DEBUG=INFO shows more."));
  }
  // Nobody waits for the others any more, and the kernels of NCCL end.
  [[noreturn, gnu::cold, gnu::noinline]] void give_up(std::string reason) {
    waits_ = false;
    broken_ = std::move(reason);
    if (NcclComm const comm = std::exchange(comm_, nullptr)) NcclLibrary::instance().comm_abort(comm);
    throw RuntimeError(broken_);
  }

  dist::detail::MpiTransport& host_;
  NcclComm comm_ = nullptr;
  cudaEvent_t before_ = nullptr, after_ = nullptr;  // the exchanges since the last wait()
  bool waits_ = false;
  int device_ = -1;
  std::string broken_;  // after a failure: its sentence, which each later call throws again
};

/// MPI for the host, NCCL for the GPU.
class NcclTransport : public dist::detail::MpiTransport {
 public:
  NcclTransport(const dist::detail::Mpi& mpi, dist::detail::MpiHandle group)
      : MpiTransport(mpi, group), ranks_(*this) {}
  dist::detail::DeviceRanks* device_ranks() { return &ranks_; }
  dist::Communicator split(int color, int key) {
    return dist::Communicator::over<NcclTransport>(mpi(), split_group(color, key));
  }

 private:
  NcclRanks ranks_;
};

}  // namespace tenon::kernel::cuda
