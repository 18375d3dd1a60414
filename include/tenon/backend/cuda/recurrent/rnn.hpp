// Plain recurrent layers: the time loops of LSTM and GRU with another cell.
#pragma once
#include <tenon/backend/cpu/recurrent/rnn.hpp>
#include <tenon/backend/cuda/recurrent/recurrent_grad.hpp>

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::RnnTanh> : kernel::cuda::RecurrentLayer<kernel::RnnCell<false>> {};
template <>
struct Kernel<Cuda, ops::RnnTanhGrad> : kernel::cuda::RecurrentLayerGrad<kernel::RnnCell<false>> {};
template <>
struct Kernel<Cuda, ops::RnnRelu> : kernel::cuda::RecurrentLayer<kernel::RnnCell<true>> {};
template <>
struct Kernel<Cuda, ops::RnnReluGrad> : kernel::cuda::RecurrentLayerGrad<kernel::RnnCell<true>> {};

}  // namespace tenon
