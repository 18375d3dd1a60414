// Matrix products of every element type.
#include <array>
#include <utility>

#include <tenon/backend/cpu/gemm/fused_update.hpp>
#include <tenon/backend/cpu/gemm/kept_row.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

using FinishProduct = FunctionRef<long, long, long, long>;

template void gemm(const Gemm<float>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<double>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<float16>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<bfloat16>&, long, long, void*, FinishProduct);
// Of bool, too: no shape rule refuses it.
template void gemm(const Gemm<bool>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<std::int8_t>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<std::int16_t>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<std::int32_t>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<std::int64_t>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<std::uint8_t>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<std::uint16_t>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<std::uint32_t>&, long, long, void*, FinishProduct);
template void gemm(const Gemm<std::uint64_t>&, long, long, void*, FinishProduct);

// Panels of every width, of which the widest have kept_vectors.
template <int... units>
constexpr auto kept_panels(std::integer_sequence<int, units...>) {
  return std::array{&detail::kept_panel<units + 1>...};
}
[[gnu::used]] constexpr auto all_kept_panels =
    kept_panels(std::make_integer_sequence<int, kept_vectors * simd_width<float> / tile_step<float>>());

// fuse_update.hpp joins updates of these two.
template void update_by_product(const Gemm<float>&, long, long, void*, const MatrixUpdate<float>&);
template void update_by_product(const Gemm<double>&, long, long, void*, const MatrixUpdate<double>&);

}  // namespace tenon::kernel
TENON_EXACT_END
