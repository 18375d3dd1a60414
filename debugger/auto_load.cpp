// Names tenon_gdb.py, which stands beside this file, in the program that this is a source of (by linking
// tenon::debugger, or by hand): gdb loads it with the program, if its auto-load safe-path allows that.
// Section and format: the GDB manual, "The .debug_gdb_scripts section".
#if defined(__ELF__)
#include <cstddef>
#include <string_view>

namespace {
constexpr std::string_view own_path = __FILE__;
constexpr std::size_t folder = own_path.rfind('/') + 1;  // 0 if there is none
constexpr std::string_view script = "tenon_gdb.py";

// Without a byte behind the last zero, which gdb would take for the begin of another entry.
struct Entry {
  char python_file = 1;
  char path[folder + script.size() + 1]{};

  constexpr Entry() {
    for (std::size_t i = 0; i < folder; ++i) path[i] = own_path[i];
    for (std::size_t i = 0; i < script.size(); ++i) path[folder + i] = script[i];
  }
};

[[gnu::used, gnu::retain, gnu::section(".debug_gdb_scripts")]] constexpr Entry entry;
}  // namespace
#endif
