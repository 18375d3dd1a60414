// dlopen and dlsym for the emulated libraries of NVIDIA: each header of one lists its functions here.
#pragma once
#include <map>
#include <string>

#include "failing_function.hpp"

namespace emulator {

/// Functions of the emulated libraries by file and name. Tests remove some, or a whole library.
inline std::map<std::string, std::map<std::string, void*>>& library_functions() {
  static std::map<std::string, std::map<std::string, void*>> all;
  return all;
}
template <class F>
void* as_symbol(F* function) {
  return reinterpret_cast<void*>(function);
}

inline void* dlopen(const char* file, int) {
  const auto found = emulator::library_functions().find(file);
  return found == emulator::library_functions().end() ? nullptr : &found->second;
}
inline const char* dlerror() { return "cannot open shared object file"; }
inline void* dlsym(void* library, const char* name) {
  const auto& functions = *static_cast<std::map<std::string, void*>*>(library);
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace emulator
