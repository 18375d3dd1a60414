// Parts of tensors put into larger ones, of every element type.
#include <tenon/backend/cpu/movement/window.hpp>

namespace tenon::inline TENON_ABI::kernel {

template void window_put(const Window&, const bool*, bool*, bool, long, long);
template void window_put(const Window&, const std::int8_t*, std::int8_t*, std::int8_t, long, long);
template void window_put(const Window&, const std::int16_t*, std::int16_t*, std::int16_t, long, long);
template void window_put(const Window&, const std::int32_t*, std::int32_t*, std::int32_t, long, long);
template void window_put(const Window&, const std::int64_t*, std::int64_t*, std::int64_t, long, long);
template void window_put(const Window&, const std::uint8_t*, std::uint8_t*, std::uint8_t, long, long);
template void window_put(const Window&, const std::uint16_t*, std::uint16_t*, std::uint16_t, long, long);
template void window_put(const Window&, const std::uint32_t*, std::uint32_t*, std::uint32_t, long, long);
template void window_put(const Window&, const std::uint64_t*, std::uint64_t*, std::uint64_t, long, long);
template void window_put(const Window&, const float16*, float16*, float16, long, long);
template void window_put(const Window&, const bfloat16*, bfloat16*, bfloat16, long, long);
template void window_put(const Window&, const float*, float*, float, long, long);
template void window_put(const Window&, const double*, double*, double, long, long);

}  // namespace tenon::kernel
