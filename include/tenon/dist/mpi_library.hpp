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

namespace tenon::inline TENON_ABI::dist::detail {

/// The shared library of an MPI, and what to install for it.
struct MpiFile {
  void* handle = nullptr;
  const char* name = "";
  template <class F>
  void find(F& symbol, const char* of) const {
    // Of a program that is linked with it, the program's own copy of a variable is the one in use.
    symbol = reinterpret_cast<F>(::dlsym(std::is_same_v<F, void*> ? RTLD_DEFAULT : handle, of));
    if (!symbol)
      throw_error<RuntimeError>(name, " has no symbol ", of,
                                ", which dist::init(\"mpi\") needs: it is no MPI 3 or later. "
                                "Install Open MPI (apt-get install openmpi-bin) or MPICH (apt-get install mpich).");
  }
};

/// Open MPI 3 to 5.
struct OpenMpi {
  using Handle = void*;
  static constexpr const char* files[]{"libmpi.so.40"};
  static constexpr const char* package = "openmpi-bin";
  static constexpr const char* launched = "OMPI_COMM_WORLD_SIZE";  // set by its mpirun: the number of processes
  static constexpr int truncated = 15;                             // MPI_ERR_TRUNCATE
  Handle world, byte, errors_return, no_request;
  void find(const MpiFile& file) {
    file.find(world, "ompi_mpi_comm_world");
    file.find(byte, "ompi_mpi_byte");
    file.find(errors_return, "ompi_mpi_errors_return");
    file.find(no_request, "ompi_request_null");
  }
};
/// MPICH 3.1 and later, and all with its binary interface.
struct Mpich {
  using Handle = int;
  static constexpr const char* files[]{"libmpich.so.12", "libmpi.so.12"};
  static constexpr const char* package = "mpich";
  static constexpr const char* launched = "PMI_SIZE";
  static constexpr int truncated = 14;
  Handle world = 0x44000000, byte = 0x4c00010d, errors_return = 0x54000001, no_request = 0x2c000000;
  void find(const MpiFile& file) {
    // the name libmpi.so.12 was also that of Open MPI 1.7 to 1.10
    if (::dlsym(file.handle, "ompi_mpi_comm_world"))
      throw_error<RuntimeError>(file.name, " is that of an Open MPI older than 3: install a later one (on Debian: "
                                           "apt-get install openmpi-bin).");
  }
};

/// The functions of one binary interface. `Status` is larger than MPI_Status of each.
template <class Abi>
struct MpiFunctions {
  using Handle = typename Abi::Handle;
  using Request = Handle;
  struct Status {
    alignas(16) char bytes[64];
  };
  static constexpr int serialized = 2;  // MPI_THREAD_SERIALIZED

  int (*initialized)(int*);
  int (*finalized)(int*);
  int (*init_thread)(int*, char***, int, int*);
  int (*query_thread)(int*);
  int (*finalize)();
  int (*comm_rank)(Handle, int*);
  int (*comm_size)(Handle, int*);
  int (*comm_dup)(Handle, Handle*);
  int (*comm_split)(Handle, int, int, Handle*);
  int (*comm_free)(Handle*);
  int (*comm_group)(Handle, Handle*);
  int (*group_translate_ranks)(Handle, int, const int*, Handle, int*);
  int (*group_free)(Handle*);
  int (*comm_set_errhandler)(Handle, Handle);
  int (*type_contiguous)(int, Handle, Handle*);
  int (*type_commit)(Handle*);
  int (*isend)(const void*, int, Handle, int, int, Handle, Request*);
  int (*irecv)(void*, int, Handle, int, int, Handle, Request*);
  int (*test)(Request*, int*, Status*);
  int (*iprobe)(int, int, Handle, int*, Status*);
  int (*cancel)(Request*);
  int (*request_free)(Request*);
  int (*get_count)(const Status*, Handle, int*);
  int (*error_class)(int, int*);
  int (*error_string)(int, char*, int*);
  int (*get_library_version)(char*, int*);
  Abi abi;

  explicit MpiFunctions(const MpiFile& file) {
    abi.find(file);
    file.find(initialized, "MPI_Initialized");
    file.find(finalized, "MPI_Finalized");
    file.find(init_thread, "MPI_Init_thread");
    file.find(query_thread, "MPI_Query_thread");
    file.find(finalize, "MPI_Finalize");
    file.find(comm_rank, "MPI_Comm_rank");
    file.find(comm_size, "MPI_Comm_size");
    file.find(comm_dup, "MPI_Comm_dup");
    file.find(comm_split, "MPI_Comm_split");
    file.find(comm_free, "MPI_Comm_free");
    file.find(comm_group, "MPI_Comm_group");
    file.find(group_translate_ranks, "MPI_Group_translate_ranks");
    file.find(group_free, "MPI_Group_free");
    file.find(comm_set_errhandler, "MPI_Comm_set_errhandler");
    file.find(type_contiguous, "MPI_Type_contiguous");
    file.find(type_commit, "MPI_Type_commit");
    file.find(isend, "MPI_Isend");
    file.find(irecv, "MPI_Irecv");
    file.find(test, "MPI_Test");
    file.find(iprobe, "MPI_Iprobe");
    file.find(cancel, "MPI_Cancel");
    file.find(request_free, "MPI_Request_free");
    file.find(get_count, "MPI_Get_count");
    file.find(error_class, "MPI_Error_class");
    file.find(error_string, "MPI_Error_string");
    file.find(get_library_version, "MPI_Get_library_version");
  }

  /// "Open MPI v4.1.4": the first words of what the library says of itself.
  std::string version() const {
    char text[8192] = "";  // MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most
    int length = 0;
    get_library_version(text, &length);
    const std::string all(text);
    const std::string line = all.substr(0, all.find_first_of(",\n"));
    std::string words;
    for (const char c : line) words += c == '\t' ? ' ' : c;
    return words;
  }
  std::string reason(int error) const {
    char text[1024] = "";
    int length = 0;
    return error_string(error, text, &length) == 0 ? std::string(text) : tenon::text("MPI's error ", error);
  }
};

/// Opens a library; the handle is null if it is not there. RTLD_GLOBAL: what Open MPI loads itself looks there for its
/// symbols.
inline MpiFile open_mpi_file(const char* name, int mode, std::string& why) {
  if (void* const handle = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL | mode)) return {handle, name};
  const char* const said = ::dlerror();
  why += text(why.empty() ? "" : "; ", said ? said : name);
  return {};
}

/// Calls use(MpiFunctions<Abi>) with the MPI that the program has loaded already, else the one whose mpirun has
/// started it, else the first one that is installed. Throws RuntimeError if there is none.
template <class Use>
void with_mpi(Use use) {
  const auto open = [&]<class Abi>(Abi, int mode, std::string& why) {
    MpiFile file{};
    for (const char* const name : Abi::files)
      if (!file.handle) file = open_mpi_file(name, mode, why);
    if (file.handle) use(MpiFunctions<Abi>(file));
    return file.handle != nullptr;
  };
  std::string ignored, why;
  if (open(OpenMpi{}, RTLD_NOLOAD, ignored) || open(Mpich{}, RTLD_NOLOAD, ignored)) return;
  const auto open_launched = [&]<class Abi>(Abi abi) {
    if (!std::getenv(Abi::launched)) return false;
    if (open(abi, 0, why)) return true;
    throw_error<RuntimeError>("dist::init(\"mpi\"): $", Abi::launched,
                              " says which mpirun has started this program, and "
                              "the library that belongs to it cannot be loaded (",
                              why,
                              "): install it (on Debian: apt-get "
                              "install ",
                              Abi::package, "), or name its folder in LD_LIBRARY_PATH.");
  };
  if (open_launched(OpenMpi{}) || open_launched(Mpich{})) return;
  if (open(OpenMpi{}, 0, why) || open(Mpich{}, 0, why)) return;
  throw_error<RuntimeError>("dist::init(\"mpi\") finds no MPI (", why,
                            "): install Open MPI (on Debian: apt-get install "
                            "openmpi-bin) or MPICH (apt-get install mpich), and start the program by `mpirun -n 4 "
                            "./program`; if it is installed, name the folder of its library in LD_LIBRARY_PATH.");
}

}  // namespace tenon::dist::detail
