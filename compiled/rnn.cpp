// The time loops of plain recurrent layers, of float32 and float64 as their shape rules say.
#include <tenon/backend/cpu/recurrent/rnn.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

template void recurrent(const Recurrent<RnnCell<false>, float>&, const float*, const RecurrentResults<float>&, long,
                        long, void*);
template void keep_recurrent_weight<RnnCell<false>>(const float*, long, void*);
template void recurrent_grad(const Recurrent<RnnCell<false>, float>&, const RecurrentGradient<float>&, long, long,
                             void*);
template void recurrent(const Recurrent<RnnCell<true>, float>&, const float*, const RecurrentResults<float>&, long,
                        long, void*);
template void keep_recurrent_weight<RnnCell<true>>(const float*, long, void*);
template void recurrent_grad(const Recurrent<RnnCell<true>, float>&, const RecurrentGradient<float>&, long, long,
                             void*);
template void recurrent(const Recurrent<RnnCell<false>, double>&, const double*, const RecurrentResults<double>&, long,
                        long, void*);
template void keep_recurrent_weight<RnnCell<false>>(const double*, long, void*);
template void recurrent_grad(const Recurrent<RnnCell<false>, double>&, const RecurrentGradient<double>&, long, long,
                             void*);
template void recurrent(const Recurrent<RnnCell<true>, double>&, const double*, const RecurrentResults<double>&, long,
                        long, void*);
template void keep_recurrent_weight<RnnCell<true>>(const double*, long, void*);
template void recurrent_grad(const Recurrent<RnnCell<true>, double>&, const RecurrentGradient<double>&, long, long,
                             void*);

}  // namespace tenon::kernel
TENON_EXACT_END
