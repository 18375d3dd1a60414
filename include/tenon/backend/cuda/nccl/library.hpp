// The functions of NCCL that Tenon calls, found when dist::init("nccl") needs them: a program compiles without nccl.h,
// and starts on machines without the library. Names, values, and layouts are those of nccl.h, 2.14 and later.
#pragma once
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

#include <tenon/backend/cuda/fast/library.hpp>
#include <tenon/backend/cuda/runtime.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// ncclResult_t.
enum NcclResult : int { nccl_success = 0, nccl_in_progress = 7 };
inline constexpr int nccl_int8 = 0;  // ncclDataType_t

struct NcclUniqueId {
  char internal[128]{};
};
/// The first members of ncclConfig_t, which says itself how many it has: those of 2.14.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;  // calls return nccl_in_progress, so that the host can give up
};
using NcclComm = struct NcclCommOfLibrary*;

/// "2.18.3" of ncclGetVersion's number, which got another digit with 2.9.
inline std::string nccl_version_text(int version) {
  const int major = version < 10000 ? version / 1000 : version / 10000;
  const int minor = version < 10000 ? version / 100 % 10 : version / 100 % 100;
  return text(major, ".", minor, ".", version % 100);
}
/// " NCCL_DEBUG=WARN, NCCL_SOCKET_IFNAME=lo are set.": what of the environment changes what NCCL does.
[[gnu::cold]] inline std::string nccl_environment() {
  std::string found;
  for (char** variable = environ; variable && *variable; ++variable)
    if (std::string_view(*variable).starts_with("NCCL_"))
      found += (found.empty() ? " " : ", ") + std::string(*variable);
  return found.empty() ? " No variable NCCL_... is set" : found + " in the environment";
}

class NcclLibrary {
 public:
  static constexpr int least = 21400;  // calls that do not wait: ncclCommInitRankConfig

  /// Throws RuntimeError if it is not there, too old, or lacks a function. The next call tries again then.
  static const NcclLibrary& instance() {
    static const NcclLibrary library;
    return library;
  }

  int version = 0;
  int (*get_unique_id)(NcclUniqueId*) = nullptr;
  int (*comm_init_rank_config)(NcclComm*, int ranks, NcclUniqueId, int rank, NcclConfig*) = nullptr;
  int (*comm_get_async_error)(NcclComm, int*) = nullptr;
  int (*comm_abort)(NcclComm) = nullptr;
  int (*comm_finalize)(NcclComm) = nullptr;
  int (*comm_destroy)(NcclComm) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  const char* (*get_last_error)(NcclComm) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, NcclComm, cudaStream_t) = nullptr;
  int (*recv)(void*, std::size_t, int type, int peer, NcclComm, cudaStream_t) = nullptr;

 private:
  static constexpr const char* file = "libnccl.so.2";

  [[gnu::cold, gnu::noinline]] NcclLibrary() : handle_(loader::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) {
      const char* const why = loader::dlerror();
      throw_error<RuntimeError>("dist::init(\"nccl\") needs ", file, ", NCCL ", nccl_version_text(least),
                                " or newer, which cannot be loaded (", why ? why : "no reason given", "): install it (",
                                package, "), name its folder in LD_LIBRARY_PATH, or use dist::init(\"mpi\").");
    }
    int (*get_version)(int*) = nullptr;
    find(get_version, "ncclGetVersion");
    if (const int result = get_version(&version); result != nccl_success)
      throw_error<RuntimeError>("dist::init(\"nccl\"): ncclGetVersion of ", file, " failed with the result ", result,
                                ".");
    if (version < least)
      throw_error<RuntimeError>("dist::init(\"nccl\") needs NCCL ", nccl_version_text(least), " or newer, and ", file,
                                " is ", nccl_version_text(version), ": install a newer one (", package,
                                "), or use dist::init(\"mpi\").");
    find(get_unique_id, "ncclGetUniqueId");
    find(comm_init_rank_config, "ncclCommInitRankConfig");
    find(comm_get_async_error, "ncclCommGetAsyncError");
    find(comm_abort, "ncclCommAbort");
    find(comm_finalize, "ncclCommFinalize");
    find(comm_destroy, "ncclCommDestroy");
    find(get_error_string, "ncclGetErrorString");
    find(get_last_error, "ncclGetLastError");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(send, "ncclSend");
    find(recv, "ncclRecv");
  }
  template <class F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(loader::dlsym(handle_, name));
    if (!function)
      throw_error<RuntimeError>(file, version ? " (NCCL " + nccl_version_text(version) + ")" : "", " has no function ",
                                name, ", which dist::init(\"nccl\") needs: install NCCL ", nccl_version_text(least),
                                " or newer (", package, ").");
  }

  static constexpr const char* package = "NVIDIA's package libnccl2";
  void* handle_;
};

}  // namespace tenon::kernel::cuda
