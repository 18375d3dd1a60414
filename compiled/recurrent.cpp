// The time loops of recurrent layers, of float32 and float64 as their shape rules say.
#include <tenon/backend/cpu/recurrent/gru.hpp>
#include <tenon/backend/cpu/recurrent/lstm.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

template void lstm(const Lstm<float>&, const float*, float*, float*, float*, long, long, void*);
template void keep_lstm_weight(const float*, long, void*);
template void lstm_grad(const Lstm<float>&, const float*, const float*, const float*, float*, long, long, void*);
template void gru(const Gru<float>&, const float*, float*, long, long, void*);
template void gru_grad(const Gru<float>&, const float*, const float*, float*, bool, long, long, void*);
template void gru_hidden_grad(long, const float*, const float*, float*, long, long);
// copies parts of the states
template void copy_matrix(const float*, long, long, float*, long, long, long, long);

template void lstm(const Lstm<double>&, const double*, double*, double*, double*, long, long, void*);
template void keep_lstm_weight(const double*, long, void*);
template void lstm_grad(const Lstm<double>&, const double*, const double*, const double*, double*, long, long, void*);
template void gru(const Gru<double>&, const double*, double*, long, long, void*);
template void gru_grad(const Gru<double>&, const double*, const double*, double*, bool, long, long, void*);
template void gru_hidden_grad(long, const double*, const double*, double*, long, long);
// copies parts of the states
template void copy_matrix(const double*, long, long, double*, long, long, long, long);

}  // namespace tenon::kernel
TENON_EXACT_END
