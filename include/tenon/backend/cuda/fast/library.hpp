// A library of NVIDIA's that is loaded when it is first needed: programs start without it.
#pragma once
#include <dlfcn.h>

#include <string>

#include <tenon/core/error.hpp>
#if defined(TENON_CUDA_EMULATOR)
#include <emulated_libraries.hpp>
#endif

namespace tenon::inline TENON_ABI::kernel::cuda {

namespace loader {
#if defined(TENON_CUDA_EMULATOR)
using emulator::dlerror;
using emulator::dlopen;
using emulator::dlsym;
#else
using ::dlerror;
using ::dlopen;
using ::dlsym;
#endif
}  // namespace loader

/// An open library. Its functions are declared by its header, and found by their names.
class LoadedLibrary {
 public:
  /// `file`: as the loader knows it, with the major version. `package`: what to install.
  /// Throws RuntimeError with what the loader says.
  LoadedLibrary(const char* file, const char* package)
      : file_(file), package_(package), handle_(loader::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_) return;
    const char* const why = loader::dlerror();
    throw_error<RuntimeError>("Math::tf32 on GPU needs ", file, ", which cannot be loaded (",
                              why ? why : "no reason given", "): install ", package,
                              ", name its folder in LD_LIBRARY_PATH, or leave math at Math::exact.");
  }
  /// Throws RuntimeError if the library has no such function.
  template <class F>
  void find(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(loader::dlsym(handle_, name));
    if (!function)
      throw_error<RuntimeError>(file_, " has no function ", name, ", which Math::tf32 on GPU needs: install ", package_,
                                ".");
  }

 private:
  const char *file_, *package_;
  void* handle_;
};

}  // namespace tenon::kernel::cuda
