// Attention heads of every floating-point type.
#include <tenon/backend/cpu/attention/attention.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

template class AttentionHead<float>;
template class AttentionHead<double>;
template class AttentionHead<float16>;
template class AttentionHead<bfloat16>;

}  // namespace tenon::kernel::detail
TENON_EXACT_END
