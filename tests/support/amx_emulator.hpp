// The tiles of AMX in software, for processors without: a compiled program runs as it is, and each of its tile
// instructions, which such a processor calls illegal, is looked up and carried out as Intel's manual describes it
// (volume 2 of the Software Developer's Manual). Linux on x86-64 only.
#pragma once
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <ucontext.h>

#include <tenon/backend/cpu/gemm/amx.hpp>

#include "skip.hpp"

namespace support {

class AmxEmulator {
 public:
  /// What this thread has carried out.
  struct Count {
    long loads, stores, products, configurations, releases;
  };
  static Count& count() {
    static thread_local Count count{};
    return count;
  }
  /// Has this thread's last configuration been released?
  static bool released() { return state().rows[0] == 0; }

  static void install() {
    struct sigaction action{};
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      // another instruction: it fails again
      if (!run(static_cast<ucontext_t*>(context)->uc_mcontext.gregs)) std::signal(SIGILL, SIG_DFL);
    };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, nullptr);
  }

 private:
  using Registers = greg_t*;
  struct State {
    int rows[8], row_bytes[8];  // 0: not configured
    unsigned char tile[8][16][64];
  };
  static State& state() {
    static thread_local State state{};
    return state;
  }

  static void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "AMX: %s\n", what);
    std::abort();
  }

  // The VEX instructions of map 0F38 in three bytes and an opcode.
  static bool run(Registers r) {
    const auto* const at = reinterpret_cast<const unsigned char*>(r[REG_RIP]);
    if (at[0] != 0xc4 || (at[1] & 31) != 2 || (at[2] & 0x84) != 0) return false;
    const int prefix = at[2] & 3, opcode = at[3], form = at[4] >> 6, reg = at[4] >> 3 & 7, other = at[4] & 7;
    constexpr int none = 0, f3 = 2, f2 = 3;
    Operand m{};
    if (form != 3) m = operand(at, r);
    if (opcode == 0x49 && prefix == none && form != 3) configure(m.address);
    else if (opcode == 0x49 && prefix == none && at[4] == 0xc0) state() = {}, ++count().releases;
    else if (opcode == 0x49 && prefix == f2 && form == 3) clear(reg);
    else if (opcode == 0x4b && prefix == f2 && form != 3) load(reg, m.address, m.stride);
    else if (opcode == 0x4b && prefix == f3 && form != 3) store(reg, m.address, m.stride);
    else if (opcode == 0x5c && prefix == f3 && form == 3) multiply(reg, other, ~at[2] >> 3 & 7);
    else return false;
    r[REG_RIP] += form == 3 ? 5 : m.length;
    return true;
  }

  struct Operand {
    char* address;
    long stride, length;
  };
  static Operand operand(const unsigned char* at, Registers r) {
    static constexpr int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const int form = at[4] >> 6, other = at[4] & 7, base_high = ~at[1] >> 2 & 8, index_high = ~at[1] >> 3 & 8;
    long length = 5, stride = 0, address = 0;
    int base = other;
    if (other == 4) {
      const int sib = at[length++], index = (sib >> 3 & 7) | index_high;
      base = sib & 7;
      if (index != 4) stride = long(r[order[index]]) << (sib >> 6);
    }
    const bool none = form == 0 && base == 5;
    if (!none) address = r[order[base | base_high]];
    std::int32_t far = 0;
    if (form == 1) far = static_cast<signed char>(at[length]), length += 1;
    else if (form == 2 || none) std::memcpy(&far, at + length, 4), length += 4;
    if (none && other == 5) address = r[REG_RIP] + length;
    return {reinterpret_cast<char*>(address + far), stride, length};
  }

  static void configure(const char* from) {
    unsigned char c[64];
    std::memcpy(c, from, 64);
    State& s = state();
    s = {};
    require(c[0] == 1 && c[1] == 0, "palette 1 from row 0");
    for (int i = 2; i < 64; ++i)
      require((i >= 16 && i < 32) || (i >= 48 && i < 56) || c[i] == 0 || i < 2, "reserved bytes are zero");
    for (int t = 0; t < 8; ++t) {
      s.row_bytes[t] = c[16 + 2 * t] | c[17 + 2 * t] << 8, s.rows[t] = c[48 + t];
      require(s.row_bytes[t] <= 64 && s.rows[t] <= 16 && (s.row_bytes[t] == 0) == (s.rows[t] == 0), "sizes of a tile");
    }
    ++count().configurations;
  }
  static void clear(int t) {
    require(state().rows[t] > 0, "a tile without a size is cleared");
    std::memset(state().tile[t], 0, sizeof state().tile[t]);
  }
  static void load(int t, const char* from, long stride) {
    clear(t);
    for (int i = 0; i < state().rows[t]; ++i)
      std::memcpy(state().tile[t][i], from + i * stride, std::size_t(state().row_bytes[t]));
    ++count().loads;
  }
  static void store(int t, char* to, long stride) {
    require(state().rows[t] > 0, "a tile without a size is stored");
    for (int i = 0; i < state().rows[t]; ++i)
      std::memcpy(to + i * stride, state().tile[t][i], std::size_t(state().row_bytes[t]));
    ++count().stores;
  }

  static float number(const void* from) {
    float f;
    std::memcpy(&f, from, 4);
    return f;
  }
  // Denormals count as zero, and become zero, whatever the mode of this thread.
  static float flushed(float f) { return __builtin_fabsf(f) < 0x1p-126f ? __builtin_copysignf(0, f) : f; }
  // The first and the second of each of 16 pairs.
  static void split(const unsigned char* row, float (&first)[16], float (&second)[16]) {
    for (int i = 0; i < 16; ++i) {
      const unsigned char low[4] = {0, 0, row[4 * i], row[4 * i + 1]}, high[4] = {0, 0, row[4 * i + 2], row[4 * i + 3]};
      first[i] = flushed(number(low)), second[i] = flushed(number(high));
    }
  }
  // TDPBF16PS sum, a, b.
  static void multiply(int sum, int a, int b) {
    State& s = state();
    const int rows = s.rows[a], columns = s.row_bytes[b] / 4, pairs = s.rows[b];
    require(sum != a && a != b && sum != b, "three different tiles");
    require(rows > 0 && pairs > 0 && s.rows[sum] == rows && s.row_bytes[sum] == s.row_bytes[b] &&
                s.row_bytes[a] == 4 * pairs,
            "sizes of a product");
    float a_first[16], a_second[16], b_first[16][16], b_second[16][16];
    for (int k = 0; k < pairs; ++k) split(s.tile[b][k], b_first[k], b_second[k]);
    for (int m = 0; m < rows; ++m) {
      float first[16]{}, second[16]{};
      split(s.tile[a][m], a_first, a_second);
      for (int k = 0; k < pairs; ++k)
        for (int n = 0; n < 16; ++n) {
          first[n] = flushed(__builtin_fmaf(a_first[k], b_first[k][n], first[n]));
          second[n] = flushed(__builtin_fmaf(a_second[k], b_second[k][n], second[n]));
        }
      for (int n = 0; n < columns; ++n) {
        const float both = flushed(first[n] + second[n]),
                    total = flushed(flushed(number(s.tile[sum][m] + 4 * n)) + both);
        std::memcpy(s.tile[sum][m] + 4 * n, &total, 4);
      }
    }
    ++count().products;
  }
};

#if defined(TENON_HAS_AMX)
/// Lets products of bfloat16 run in tiles: true if the processor does it, false if they are emulated.
inline bool use_amx() {
  using namespace tenon::kernel::detail;
  if (ask_for_amx()) return true;
  say_skipped(
      "AMX on the processor itself: it has none, or the system does not permit it; its instructions are emulated");
  AmxEmulator::install();
  amx_permission = AmxPermission::granted;
  return false;
}
#endif

}  // namespace support
