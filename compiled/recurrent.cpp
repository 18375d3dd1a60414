// The time loops of recurrent layers, of float32 and float64 as their shape rules say.
#include <tenon/backend/cpu/recurrent/recurrent.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

template void recurrent(const Recurrent<LstmCell, float>&, const float*, const RecurrentResults<float>&, long, long,
                        void*);
template void keep_recurrent_weight<LstmCell>(const float*, long, void*);
template void recurrent_grad(const Recurrent<LstmCell, float>&, const RecurrentGradient<float>&, long, long, void*);
template void recurrent(const Recurrent<GruCell, float>&, const float*, const RecurrentResults<float>&, long, long,
                        void*);
template void keep_recurrent_weight<GruCell>(const float*, long, void*);
template void recurrent_grad(const Recurrent<GruCell, float>&, const RecurrentGradient<float>&, long, long, void*);

template void recurrent(const Recurrent<LstmCell, double>&, const double*, const RecurrentResults<double>&, long, long,
                        void*);
template void keep_recurrent_weight<LstmCell>(const double*, long, void*);
template void recurrent_grad(const Recurrent<LstmCell, double>&, const RecurrentGradient<double>&, long, long, void*);
template void recurrent(const Recurrent<GruCell, double>&, const double*, const RecurrentResults<double>&, long, long,
                        void*);
template void keep_recurrent_weight<GruCell>(const double*, long, void*);
template void recurrent_grad(const Recurrent<GruCell, double>&, const RecurrentGradient<double>&, long, long, void*);

}  // namespace tenon::kernel
TENON_EXACT_END
