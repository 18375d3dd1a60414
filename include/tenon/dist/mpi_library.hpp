// The functions of MPI that Tenon calls, found when dist::init needs them.
//
// Why by name and not by linking: mpi.h makes a program one for Open MPI or one for MPICH, and a linked program does
// not start where that one is not installed, with a text of the loader's. So Tenon opens the library that belongs to
// the mpirun which has started the program. Two binary interfaces cover what is in use: Open MPI's, whose handles are
// pointers (libmpi.so.40, 3.0 to 5.0), and that of the MPICH ABI Compatibility Initiative, whose handles are ints
// (libmpich.so.12, libmpi.so.12: MPICH, Intel MPI, MVAPICH, Cray). mpi4py and MPItrampoline do alike.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <type_traits>

#include <tenon/core/error.hpp>
#include <tenon/core/thread/threads.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// A binary interface, the names of its library, and what to install for it.
struct MpiAbi {
  bool has_pointers;  // as handles
  const char* files[2];
  const char* package;
  const char* launched;  // set by its mpirun: the number of processes
  int truncated;         // MPI_ERR_TRUNCATE
};
/// Open MPI 3 to 5; MPICH 3.1 and later, and all with its binary interface.
inline constexpr MpiAbi open_mpi{true, {"libmpi.so.40", nullptr}, "openmpi-bin", "OMPI_COMM_WORLD_SIZE", 15};
inline constexpr MpiAbi mpich{false, {"libmpich.so.12", "libmpi.so.12"}, "mpich", "PMI_SIZE", 14};

union MpiHandle {
  void* pointer;
  int number;
};
/// Larger than MPI_Status of each.
struct MpiStatus {
  alignas(16) char bytes[64];
};

enum class MpiCall {
  initialized,
  finalized,
  init_thread,
  query_thread,
  finalize,
  comm_rank,
  comm_size,
  comm_dup,
  comm_split,
  comm_free,
  comm_group,
  group_translate_ranks,
  group_free,
  comm_set_errhandler,
  type_contiguous,
  type_commit,
  type_free,
  isend,
  irecv,
  test,
  iprobe,
  cancel,
  request_free,
  get_count,
  error_class,
  error_string,
  get_library_version
};
inline constexpr const char* mpi_names[]{"MPI_Initialized",
                                         "MPI_Finalized",
                                         "MPI_Init_thread",
                                         "MPI_Query_thread",
                                         "MPI_Finalize",
                                         "MPI_Comm_rank",
                                         "MPI_Comm_size",
                                         "MPI_Comm_dup",
                                         "MPI_Comm_split",
                                         "MPI_Comm_free",
                                         "MPI_Comm_group",
                                         "MPI_Group_translate_ranks",
                                         "MPI_Group_free",
                                         "MPI_Comm_set_errhandler",
                                         "MPI_Type_contiguous",
                                         "MPI_Type_commit",
                                         "MPI_Type_free",
                                         "MPI_Isend",
                                         "MPI_Irecv",
                                         "MPI_Test",
                                         "MPI_Iprobe",
                                         "MPI_Cancel",
                                         "MPI_Request_free",
                                         "MPI_Get_count",
                                         "MPI_Error_class",
                                         "MPI_Error_string",
                                         "MPI_Get_library_version"};
static_assert(std::size(mpi_names) == std::size_t(MpiCall::get_library_version) + 1);

/// An argument as an interface has it whose handles are of type H.
template <class H, class A>
auto mpi_argument(A argument) {
  if constexpr (std::is_same_v<A, MpiHandle>) {
    if constexpr (std::is_pointer_v<H>) return argument.pointer;
    else return argument.number;
  } else if constexpr (std::is_same_v<A, MpiHandle*>) {
    if constexpr (std::is_pointer_v<H>) return &argument->pointer;
    else return &argument->number;
  } else {
    return argument;
  }
}
template <class H, class... A>
int call_mpi(void* function, A... a) {
  return reinterpret_cast<int (*)(decltype(mpi_argument<H>(a))...)>(function)(mpi_argument<H>(a)...);
}

/// MPI in this process. The first init makes it, and it is there until the process ends, since communicators may be.
class Mpi {
 public:
  static constexpr int serialized = 2;  // MPI_THREAD_SERIALIZED

  const MpiAbi& abi;
  MpiHandle world{}, byte{}, errors_return{}, no_request{};
  mutable tenon::detail::Mutex
      mutex;  // MPI_THREAD_SERIALIZED is enough then, which costs Open MPI less than MPI_THREAD_MULTIPLE
  bool is_ours = false, is_released = false;
  double timeout = 0;
  MpiHandle ranks{};  // all of them, Tenon's own

  /// Throws RuntimeError if the library is no MPI 3.
  Mpi(const MpiAbi& of, void* library, const char* name) : abi(of) {
    if (abi.has_pointers) {
      // Of a program that is linked with it, the program's own copy of a variable is the one in use.
      world.pointer = found(RTLD_DEFAULT, name, "ompi_mpi_comm_world");
      byte.pointer = found(RTLD_DEFAULT, name, "ompi_mpi_byte");
      errors_return.pointer = found(RTLD_DEFAULT, name, "ompi_mpi_errors_return");
      no_request.pointer = found(RTLD_DEFAULT, name, "ompi_request_null");
    } else {
      // the name libmpi.so.12 was also that of Open MPI 1.7 to 1.10
      if (::dlsym(library, "ompi_mpi_comm_world"))
        throw_error<RuntimeError>(name, " is that of an Open MPI older than 3: install a later one (on Debian: "
                                        "apt-get install openmpi-bin).");
      world.number = 0x44000000, byte.number = 0x4c00010d, errors_return.number = 0x54000001;
      no_request.number = 0x2c000000;
    }
    for (std::size_t i = 0; i < std::size(mpi_names); ++i) function_[i] = found(library, name, mpi_names[i]);
  }
  /// Calls MPI, and returns its error or 0.
  template <class... A>
  int call(MpiCall which, A... a) const {
    void* const function = function_[std::size_t(which)];
    return abi.has_pointers ? call_mpi<void*>(function, a...) : call_mpi<int>(function, a...);
  }
  /// Throws RuntimeError for an error.
  template <class... A>
  void require(MpiCall which, A... a) const {
    if (const int error = call(which, a...)) refuse(which, error);
  }
  bool same(MpiHandle a, MpiHandle b) const { return abi.has_pointers ? a.pointer == b.pointer : a.number == b.number; }

  /// "Open MPI v4.1.4": the first words of what the library says of itself.
  [[gnu::cold]] std::string version() const {
    char text[8192] = "";  // MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most
    int length = 0;
    call(MpiCall::get_library_version, &text[0], &length);
    std::string words;
    for (const char* at = text; *at && *at != ',' && *at != '\n'; ++at) words += *at == '\t' ? ' ' : *at;
    return words;
  }
  [[gnu::cold]] std::string reason(int error) const {
    char text[1024] = "";
    int length = 0;
    return call(MpiCall::error_string, error, &text[0], &length) == 0 ? std::string(text)
                                                                      : tenon::text("MPI's error ", error);
  }

 private:
  [[gnu::cold]] static void* found(void* library, const char* name, const char* symbol) {
    if (void* const address = ::dlsym(library, symbol)) return address;
    throw_error<RuntimeError>(name, " has no symbol ", symbol,
                              ", which dist::init(\"mpi\") needs: it is no MPI 3 or later. "
                              "Install Open MPI (apt-get install openmpi-bin) or MPICH (apt-get install mpich).");
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(MpiCall which, int error) const {
    throw_error<RuntimeError>(mpi_names[std::size_t(which)], " failed: ", reason(error), ".");
  }

  void* function_[std::size(mpi_names)];
};

/// Opens a library with this interface; null if it is not there, and `why` says so. RTLD_GLOBAL: what Open MPI loads
/// itself looks there for its symbols.
[[gnu::cold, gnu::noinline]] inline Mpi* open_mpi_file(const MpiAbi& abi, int mode, std::string& why) {
  for (const char* const name : abi.files) {
    if (!name) continue;
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL | mode)) return new Mpi(abi, library, name);
    const char* const said = ::dlerror();
    if (!why.empty()) why += "; ";
    why += said ? said : name;
  }
  return nullptr;
}

/// The MPI that the program has loaded already, else the one whose mpirun has started it, else the first one that is
/// installed. Throws RuntimeError if there is none.
[[gnu::cold, gnu::noinline]] inline Mpi* find_mpi() {
  std::string ignored, why;
  for (const MpiAbi* const abi : {&open_mpi, &mpich})
    if (Mpi* const mpi = open_mpi_file(*abi, RTLD_NOLOAD, ignored)) return mpi;
  for (const MpiAbi* const abi : {&open_mpi, &mpich}) {
    if (!std::getenv(abi->launched)) continue;
    if (Mpi* const mpi = open_mpi_file(*abi, 0, why)) return mpi;
    throw_error<RuntimeError>("dist::init(\"mpi\"): $", abi->launched,
                              " says which mpirun has started this program, and "
                              "the library that belongs to it cannot be loaded (",
                              why,
                              "): install it (on Debian: apt-get "
                              "install ",
                              abi->package, "), or name its folder in LD_LIBRARY_PATH.");
  }
  for (const MpiAbi* const abi : {&open_mpi, &mpich})
    if (Mpi* const mpi = open_mpi_file(*abi, 0, why)) return mpi;
  throw_error<RuntimeError>("dist::init(\"mpi\") finds no MPI (", why,
                            "): install Open MPI (on Debian: apt-get install "
                            "openmpi-bin) or MPICH (apt-get install mpich), and start the program by `mpirun -n 4 "
                            "./program`; if it is installed, name the folder of its library in LD_LIBRARY_PATH.");
}

}  // namespace tenon::dist::detail
