// What stands before main on a Cortex-M: vectors, the FPU, memory; and what a program on a board, or in QEMU, says to
// the machine that debugs it (semihosting).
#pragma once
#include <cstdint>

extern "C" {
extern std::uint32_t data_begin[], data_end[], data_source[], bss_begin[], bss_end[], stack_end[];
int main();
[[noreturn]] void start();
[[noreturn]] void fault();
}

namespace board {

inline int call_host(int what, const void* data) {
  register int number asm("r0") = what;
  register const void* argument asm("r1") = data;
  asm volatile("bkpt 0xab" : "+r"(number) : "r"(argument) : "memory");
  return number;
}
inline void write(const char* text) { call_host(4, text); }
inline void write(const char* name, std::uint32_t number) {
  char text[] = "00000000\n";
  for (int i = 7; i >= 0; --i, number >>= 4) text[i] = "0123456789abcdef"[number & 15];
  write(name);
  write(text);
}
[[noreturn]] inline void exit(int status) {
  const std::uint32_t block[]{0x20026, std::uint32_t(status)};
  call_host(0x20, block);
  for (;;) {
  }
}

inline constexpr std::uint32_t paint = 0xdeadbeef;
/// Bytes of the stack that were in use at the deepest moment.
inline std::uint32_t stack_bytes() {
  const std::uint32_t* low = bss_end;
  while (low < stack_end && *low == paint) ++low;
  return std::uint32_t(stack_end - low) * 4;
}

}  // namespace board

extern "C" {
[[gnu::section(".vectors"), gnu::used]] inline const void* const vectors[16]{stack_end,
                                                                             reinterpret_cast<const void*>(&start),
                                                                             reinterpret_cast<const void*>(&fault),
                                                                             reinterpret_cast<const void*>(&fault),
                                                                             reinterpret_cast<const void*>(&fault),
                                                                             reinterpret_cast<const void*>(&fault),
                                                                             reinterpret_cast<const void*>(&fault)};

[[noreturn]] inline void fault() {
  board::write("fault\n");
  board::exit(2);
}
[[noreturn, gnu::used]] inline void start() {
  *reinterpret_cast<volatile std::uint32_t*>(0xE000ED88) |= 0xfu << 20;  // the FPU is off after a reset
  asm volatile("dsb\n isb" ::: "memory");
  for (std::uint32_t *to = data_begin, *from = data_source; to < data_end;) *to++ = *from++;
  for (std::uint32_t* to = bss_begin; to < bss_end;) *to++ = 0;
  std::uint32_t* here;
  asm volatile("mov %0, sp" : "=r"(here));
  for (std::uint32_t* to = bss_end; to < here - 16;) *to++ = board::paint;
  board::exit(main());
}
}
