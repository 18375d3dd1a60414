// Which function of which build it is: a cache must not serve what an older build of a user's function has made.
#pragma once
#include <cstdint>
#include <cstring>

#include <sys/stat.h>
#if !defined(TENON_KNOWS_ITS_CODE)  // which a test says
#if __has_include(<link.h>) && __has_include(<elf.h>)
#define TENON_KNOWS_ITS_CODE 1
#else
#define TENON_KNOWS_ITS_CODE 0
#endif
#endif
#if TENON_KNOWS_ITS_CODE
#include <elf.h>
#include <link.h>
#endif

#include <tenon/core/random/philox.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// One per type and program: its address is that of nothing else.
template <class F>
inline char code_anchor = 0;

#if TENON_KNOWS_ITS_CODE
struct CodeSearch {
  std::uintptr_t address;
  std::uint64_t identity;
};
/// The build id that the linker has made of a program's or library's content; without one its file, size, and time.
inline std::uint64_t build_identity(const dl_phdr_info& module) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = module.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const char* note = reinterpret_cast<const char*>(module.dlpi_addr + part.p_vaddr);
    for (const char* const end = note + part.p_memsz; note + sizeof(ElfW(Nhdr)) <= end;) {
      ElfW(Nhdr) head;
      std::memcpy(&head, note, sizeof head);
      const char* const name = note + sizeof head;
      const char* const content = name + (head.n_namesz + 3) / 4 * 4;
      if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
        return hash_bytes(content, head.n_descsz);
      note = content + (head.n_descsz + 3) / 4 * 4;
    }
  }
  struct stat file;
  const char* const path = module.dlpi_name && *module.dlpi_name ? module.dlpi_name : "/proc/self/exe";
  if (::stat(path, &file) != 0) return 0;
  std::uint64_t hash = hash_number(static_cast<std::uint64_t>(file.st_size), hash_bytes(path, std::strlen(path)));
  hash = hash_number(static_cast<std::uint64_t>(file.st_mtim.tv_sec), hash);
  return hash_number(static_cast<std::uint64_t>(file.st_mtim.tv_nsec), hash);
}
inline int find_code(dl_phdr_info* module, std::size_t, void* search) {
  CodeSearch& wanted = *static_cast<CodeSearch*>(search);
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = module->dlpi_phdr[i];
    const std::uintptr_t begin = module->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || wanted.address < begin || wanted.address >= begin + part.p_memsz) continue;
    const std::uint64_t build = build_identity(*module);
    if (build != 0) wanted.identity = hash_number(wanted.address - module->dlpi_addr, build) | 1;
    return 1;
  }
  return 0;
}
#endif

/// A number for the code of a type's functions, the same in all runs of one build and another in each other build; 0 if
/// the system does not say. Two lambdas of a function have one name, but two of these.
template <class F>
std::uint64_t code_identity() {
#if TENON_KNOWS_ITS_CODE
  CodeSearch search{reinterpret_cast<std::uintptr_t>(&code_anchor<F>), 0};
  ::dl_iterate_phdr(find_code, &search);
  return search.identity;
#else
  return 0;
#endif
}

}  // namespace tenon::dataset::detail
