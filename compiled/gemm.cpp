// Matrix products of every element type.
#include <tenon/kernel/cpu/gemm/fused_update.hpp>

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

// fuse_update.hpp joins updates of these two.
template void update_by_product(const Gemm<float>&, long, long, void*, const MatrixUpdate<float>&);
template void update_by_product(const Gemm<double>&, long, long, void*, const MatrixUpdate<double>&);

}  // namespace tenon::kernel
TENON_EXACT_END
