// How a kernel that runs other kernels moves values on a target: control flow needs no more.
#pragma once
#include <tenon/core/dtype.hpp>
#include <tenon/core/target.hpp>

namespace tenon::inline TENON_ABI {

/// Some rows of bytes, a stride apart.
struct RowsOfBytes {
  std::byte* begin = nullptr;
  long stride = 0;
};

/// Members, in the order of the kernels that are started:
///
///     static constexpr bool on_host                   addresses can be read and written by the caller itself
///     static void copy(void* to, const void* from, long bytes)
///     static void copy_rows(RowsOfBytes to, RowsOfBytes from, long rows, long bytes)
///     static void clear(void* to, long bytes)         zeros
///     static void put(void* to, std::uint64_t word)   8 bytes
///     static void add(Dtype, void* sum, const void* term, long count)
///                                                     sum += term for floating-point numbers, rounded to the dtype
///     static void turn_state(void* to, const void* state, long turn)
///                                                     turn_random_state() of what is there
///     template <class F, class G> static void either(void* room, const bool* condition, F then, G otherwise)
///                                                     then() if it holds, else otherwise(); room for two words
///     static void turn_flags(std::int32_t* flags, const void* count, long turn)
///                                                     not on the host: of the 64-bit number of turns at `count` three
///                                                     flags: other than 0 if `turn` is not the last of them, not one
///                                                     before that, none of them
///     template <class F> static void unless(const std::int32_t* flag, F f)
///                                                     not on the host: f(), whose kernels a flag other than 0 keeps
///                                                     back
///     static int threads()                            that share the work of a kernel
template <class Target>
struct Moves;

}  // namespace tenon
