// Tiles of AMX: eight matrix registers that multiply 16 rows by 16 columns over 32 steps of bfloat16 in one
// instruction.
#pragma once
#include <tenon/core/config.hpp>
#include <tenon/core/thread/atomic.hpp>

#if defined(TENON_HAS_AMX) && TENON_DEFINES
#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Rows, and columns of float32 or pairs, of a tile; steps of a product that one instruction takes; rows and columns of
/// four tiles.
inline constexpr long amx_side = 16, amx_steps = 2 * amx_side, amx_square = 2 * amx_side;

#if defined(TENON_HAS_AMX)
/// Are there tiles in this instruction set? The namespace says so too.
inline constexpr bool has_amx = true;

/// May this process use tiles? The first call asks the system, for all threads; the answer stays.
bool amx_permitted();

#if TENON_DEFINES
namespace detail {
/// Linux gives tiles to a process that asks for them, because they make what it saves of a thread 8 KB larger. It
/// refuses where the processor has none, or where it is older than 5.16.
enum class AmxPermission { not_asked, refused, granted };
inline constinit tenon::detail::Atomic<AmxPermission> amx_permission{AmxPermission::not_asked};

[[gnu::cold, gnu::noinline]] inline bool ask_for_amx() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  const bool granted = ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  amx_permission.store(granted ? AmxPermission::granted : AmxPermission::refused, tenon::detail::MemoryOrder::relaxed);
  return granted;
}
}  // namespace detail

TENON_INLINE bool amx_permitted() {
  const auto known = detail::amx_permission.load(tenon::detail::MemoryOrder::relaxed);
  return known == detail::AmxPermission::not_asked ? detail::ask_for_amx() : known == detail::AmxPermission::granted;
}

/// Up to 2 x 2 tiles of sums side by side: out[i][j] = sum over groups of 32 steps of a's rows times b's columns, from
/// +0 or, to resume, from out. Row i of a: 16 pairs at a + i * a_row + group * a_group for `groups` groups, then, if
/// there is a `last` one, at last + i * 64. Pair p of steps of b: pairs of 16 or 32 columns at b + group * b_group + p
/// * b_row. All distances in bytes.
struct AmxProduct {
  const char* a;
  long a_row, a_group, groups;
  const char* last;
  const char* b;
  long b_row, b_group;
  char* out;
  long out_row;
  bool resume;
};

namespace detail {
// By their names: the compilers' own functions are in a large header. Tiles 0 .. 3 hold sums, 4 and 5 rows of a, 6 and
// 7 columns of b.
template <int tile>
[[gnu::always_inline]] inline void amx_load(const char* from, long row) {
  asm volatile("{tileloadd (%0,%1,1), %%tmm%c2|tileloadd tmm%c2, [%0+%1*1]}"
               :
               : "r"(from), "r"(row), "i"(tile)
               : "memory");
}
template <int tile>
[[gnu::always_inline]] inline void amx_store(char* to, long row) {
  asm volatile("{tilestored %%tmm%c2, (%0,%1,1)|tilestored [%0+%1*1], tmm%c2}"
               :
               : "r"(to), "r"(row), "i"(tile)
               : "memory");
}
template <int tile>
[[gnu::always_inline]] inline void amx_clear() {
  asm volatile("{tilezero %%tmm%c0|tilezero tmm%c0}" : : "i"(tile));
}
template <int sum, int a, int b>
[[gnu::always_inline]] inline void amx_multiply() {
  asm volatile("{tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0|tdpbf16ps tmm%c0, tmm%c1, tmm%c2}"
               :
               : "i"(sum), "i"(a), "i"(b));
}

template <int tile>
[[gnu::always_inline]] inline void amx_begin(const AmxProduct& p) {
  if (p.resume) amx_load<tile>(p.out + tile / 2 * amx_side * p.out_row + tile % 2 * 64, p.out_row);
  else amx_clear<tile>();
}
template <int tile>
[[gnu::always_inline]] inline void amx_end(const AmxProduct& p) {
  amx_store<tile>(p.out + tile / 2 * amx_side * p.out_row + tile % 2 * 64, p.out_row);
}

/// Rows x Columns tiles. Four of them take as many loads as products, which is what a processor can keep up with.
template <int Rows, int Columns>
[[gnu::noinline]] void amx_multiply(const AmxProduct& p) {
  constexpr bool lower = Rows == 2, right = Columns == 2;
  amx_begin<0>(p);
  if constexpr (right) amx_begin<1>(p);
  if constexpr (lower) amx_begin<2>(p);
  if constexpr (lower && right) amx_begin<3>(p);
  const char *a = p.a, *b = p.b;
  const long a_row = p.a_row, b_row = p.b_row, a_group = p.a_group, b_group = p.b_group;
  const auto group = [b_row](const char* a, long a_row, const char* b) __attribute__((always_inline)) {
    amx_load<4>(a, a_row);
    amx_load<6>(b, b_row);
    amx_multiply<0, 4, 6>();
    if constexpr (right) amx_load<7>(b + 64, b_row), amx_multiply<1, 4, 7>();
    if constexpr (lower) amx_load<5>(a + amx_side * a_row, a_row), amx_multiply<2, 5, 6>();
    if constexpr (lower && right) amx_multiply<3, 5, 7>();
  };
  for (long left = p.groups; left > 0; --left, a += a_group, b += b_group) group(a, a_row, b);
  if (p.last) group(p.last, 64, b);
  amx_end<0>(p);
  if constexpr (right) amx_end<1>(p);
  if constexpr (lower) amx_end<2>(p);
  if constexpr (lower && right) amx_end<3>(p);
}
}  // namespace detail

/// The tiles of one thread, from the first shape to the end of the scope. Then they are empty again, so that nobody has
/// to save them.
class AmxTiles {
 public:
  AmxTiles() = default;
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  ~AmxTiles() {
    if (rows_) asm volatile("tilerelease");
  }

  /// 1 .. 32 rows and 1 .. 32 columns of sums. Only whole tiles of columns: 16 or 32 are read and written.
  void multiply(const AmxProduct& p, long rows, long columns) {
    if (rows != rows_) shape(rows);
    if (rows > amx_side) columns > amx_side ? detail::amx_multiply<2, 2>(p) : detail::amx_multiply<2, 1>(p);
    else columns > amx_side ? detail::amx_multiply<1, 2>(p) : detail::amx_multiply<1, 1>(p);
  }

 private:
  // The 64 bytes that say how large the tiles are.
  struct Shape {
    std::uint8_t palette, start_row, reserved[14];
    std::uint16_t row_bytes[16];
    std::uint8_t rows[16];
  };
  void shape(long rows) {
    const auto upper = std::uint8_t(rows < amx_side ? rows : amx_side),
               lower = std::uint8_t(rows > amx_side ? rows - amx_side : amx_side);
    const Shape s{
        1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {upper, upper, lower, lower, upper, lower, amx_side, amx_side}};
    asm volatile("ldtilecfg %0" : : "m"(s));
    rows_ = rows;
  }

  long rows_ = 0;
};
#endif  // TENON_DEFINES

#else
inline constexpr bool has_amx = false;
constexpr bool amx_permitted() { return false; }
#endif

}  // namespace tenon::kernel
TENON_EXACT_END
