// cuDNN without a GPU: the functions that Tenon calls, on the host. They check what they get, and count calls. Names,
// values, and types of arguments are those of NVIDIA's header.
#pragma once
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "emulated_libraries.hpp"
#include "emulated_numbers.hpp"

#define CUDNN_MAJOR 9

enum cudnnStatus_t {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000,
  CUDNN_STATUS_NOT_SUPPORTED_SHAPE = 3002,
  CUDNN_STATUS_EXECUTION_FAILED = 5000,
};
enum cudnnDataType_t { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_HALF = 2, CUDNN_DATA_BFLOAT16 = 9 };
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW = 0 };
enum cudnnConvolutionMode_t { CUDNN_CONVOLUTION = 0, CUDNN_CROSS_CORRELATION = 1 };
enum cudnnMathType_t { CUDNN_DEFAULT_MATH = 0, CUDNN_TENSOR_OP_MATH = 1 };
enum cudnnDeterminism_t { CUDNN_NON_DETERMINISTIC = 0, CUDNN_DETERMINISTIC = 1 };
enum cudnnConvolutionFwdAlgo_t { CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1 };
enum cudnnConvolutionBwdDataAlgo_t { CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 = 0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 = 1 };
enum cudnnConvolutionBwdFilterAlgo_t {
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 = 0,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 = 1,
};

namespace emulator {

struct DnnTensor {  // images, or a weight
  cudnnDataType_t type;
  int extent[4];
};
struct DnnConvolution {
  int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
/// What one call that computes got: 0 the result, 1 the gradient for images, 2 that for weights.
struct DnnCall {
  int gives;
  DnnTensor image, weight, output;
  DnnConvolution convolution;
};
inline std::vector<DnnCall> dnn_calls;
/// Elements that images may have. Tests set it.
inline long dnn_most_elements = 1l << 31;
/// What an algorithm is not found for: with that many planes. Tests set it.
inline int dnn_unknown_planes = -1;
struct DnnHandle {
  Stream* stream = nullptr;
};
template <class Algorithm>
struct DnnFound {
  Algorithm algo;
  cudnnStatus_t status;
  float time;
  std::size_t memory;
  cudnnDeterminism_t determinism;
  cudnnMathType_t mathType;
  int reserved[3];
};

inline cudnnStatus_t dnn(const char* name) {
  return failing_function == name ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS;
}
inline bool fits(const DnnTensor& x, const DnnTensor& w, const DnnTensor& y, const DnnConvolution& c) {
  const auto size = [](int image, int pad, int kernel, int dilation, int stride) {
    return (image + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  };
  return x.type == w.type && x.type == y.type && x.extent[0] == y.extent[0] && x.extent[1] == w.extent[1] * c.groups &&
         y.extent[1] == w.extent[0] && w.extent[0] % c.groups == 0 &&
         y.extent[2] == size(x.extent[2], c.pad_h, w.extent[2], c.dilation_h, c.stride_h) &&
         y.extent[3] == size(x.extent[3], c.pad_w, w.extent[3], c.dilation_w, c.stride_w);
}
/// Two algorithms: a faster one, which is not deterministic, and one that is.
template <class Algorithm>
cudnnStatus_t find(const char* name, const DnnTensor& x, const DnnTensor& w, const DnnTensor& y,
                   const DnnConvolution& c, int most, int* count, DnnFound<Algorithm>* found) {
  if (!fits(x, w, y, c) || c.math != CUDNN_TENSOR_OP_MATH || most < 2) return CUDNN_STATUS_BAD_PARAM;
  if (x.extent[1] == dnn_unknown_planes) return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
  found[0] = {Algorithm(0), CUDNN_STATUS_SUCCESS, 1, 0, CUDNN_NON_DETERMINISTIC, CUDNN_TENSOR_OP_MATH, {}};
  found[1] = {Algorithm(1), CUDNN_STATUS_SUCCESS, 2, 512, CUDNN_DETERMINISTIC, CUDNN_TENSOR_OP_MATH, {}};
  *count = 2;
  return dnn(name);
}
inline void convolve(const DnnCall& call, void* const (&memory)[3]) {
  const auto& [gives, x, w, y, c] = call;
  const Kind kind = x.type == CUDNN_DATA_FLOAT  ? Kind::tf32
                    : x.type == CUDNN_DATA_HALF ? Kind::float16
                                                : Kind::bfloat16;
  const auto count = [](const DnnTensor& t) { return long(t.extent[0]) * t.extent[1] * t.extent[2] * t.extent[3]; };
  const DnnTensor* const tensor[]{&x, &w, &y};
  const int result = gives == 0 ? 2 : gives - 1;
  std::vector<float> value[3];
  for (int t = 0; t < 3; ++t)
    for (long i = 0; i < count(*tensor[t]); ++i) value[t].push_back(t == result ? 0 : factor(memory[t], i, kind));
  const int inputs = w.extent[1], outputs = w.extent[0] / c.groups;
  for (int n = 0; n < y.extent[0]; ++n)
    for (int o = 0; o < y.extent[1]; ++o)
      for (int i = 0; i < y.extent[2]; ++i)
        for (int j = 0; j < y.extent[3]; ++j)
          for (int k = 0; k < inputs; ++k)
            for (int r = 0; r < w.extent[2]; ++r)
              for (int s = 0; s < w.extent[3]; ++s) {
                const int row = i * c.stride_h + r * c.dilation_h - c.pad_h,
                          column = j * c.stride_w + s * c.dilation_w - c.pad_w;
                if (row < 0 || row >= x.extent[2] || column < 0 || column >= x.extent[3]) continue;
                float* const at[]{
                    &value[0][std::size_t(
                        ((n * x.extent[1] + o / outputs * inputs + k) * x.extent[2] + row) * x.extent[3] + column)],
                    &value[1][std::size_t(((o * inputs + k) * w.extent[2] + r) * w.extent[3] + s)],
                    &value[2][std::size_t(((n * y.extent[1] + o) * y.extent[2] + i) * y.extent[3] + j)]};
                *at[result] += *at[(result + 1) % 3] * *at[(result + 2) % 3];
              }
  for (long i = 0; i < count(*tensor[result]); ++i) store(memory[result], i, kind, value[result][std::size_t(i)]);
}
inline cudnnStatus_t compute(const char* name, DnnHandle* handle, const DnnCall& call, void* x, void* w, void* y,
                             int algorithm, void* workspace, std::size_t bytes, const void* alpha, const void* beta) {
  if (!fits(call.image, call.weight, call.output, call.convolution) || algorithm != 1 || bytes != 512 || !workspace ||
      *static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0)
    return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t status = dnn(name); status != CUDNN_STATUS_SUCCESS) return status;
  dnn_calls.push_back(call);
  put(handle->stream, [=] {
    std::memset(workspace, 0xff, bytes);  // it is this call's alone
    convolve(call, {x, w, y});
  });
  return CUDNN_STATUS_SUCCESS;
}
inline void* writable(const void* memory) { return const_cast<void*>(memory); }

}  // namespace emulator

using cudnnHandle_t = emulator::DnnHandle*;
using cudnnTensorDescriptor_t = emulator::DnnTensor*;
struct cudnnFilterStruct : emulator::DnnTensor {};
using cudnnFilterDescriptor_t = cudnnFilterStruct*;
using cudnnConvolutionDescriptor_t = emulator::DnnConvolution*;
using cudnnConvolutionFwdAlgoPerf_t = emulator::DnnFound<cudnnConvolutionFwdAlgo_t>;
using cudnnConvolutionBwdDataAlgoPerf_t = emulator::DnnFound<cudnnConvolutionBwdDataAlgo_t>;
using cudnnConvolutionBwdFilterAlgoPerf_t = emulator::DnnFound<cudnnConvolutionBwdFilterAlgo_t>;

inline const char* cudnnGetErrorString(cudnnStatus_t) { return "an emulated failure"; }
inline cudnnStatus_t cudnnCreate(cudnnHandle_t* made) {
  *made = new emulator::DnnHandle;
  return emulator::dnn("cudnnCreate");
}
inline cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return emulator::dnn("cudnnSetStream");
}
inline cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  *made = new emulator::DnnTensor{};
  return emulator::dnn("cudnnCreateTensorDescriptor");
}
inline cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t t, cudnnTensorFormat_t, cudnnDataType_t type,
                                                int n, int c, int h, int w) {
  if (long(n) * c * h * w > emulator::dnn_most_elements) return CUDNN_STATUS_NOT_SUPPORTED;
  *t = {type, {n, c, h, w}};
  return emulator::dnn("cudnnSetTensor4dDescriptor");
}
inline cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) {
  *made = new cudnnFilterStruct{};
  return emulator::dnn("cudnnCreateFilterDescriptor");
}
inline cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t t, cudnnDataType_t type, cudnnTensorFormat_t,
                                                int o, int c, int h, int w) {
  *t = {{type, {o, c, h, w}}};
  return emulator::dnn("cudnnSetFilter4dDescriptor");
}
inline cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  *made = new emulator::DnnConvolution{};
  return emulator::dnn("cudnnCreateConvolutionDescriptor");
}
inline cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t c, int pad_h, int pad_w, int stride_h,
                                                     int stride_w, int dilation_h, int dilation_w,
                                                     cudnnConvolutionMode_t mode, cudnnDataType_t sums) {
  if (mode != CUDNN_CROSS_CORRELATION || sums != CUDNN_DATA_FLOAT) return CUDNN_STATUS_BAD_PARAM;
  *c = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w};
  return emulator::dnn("cudnnSetConvolution2dDescriptor");
}
inline cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t c, int groups) {
  c->groups = groups;
  return emulator::dnn("cudnnSetConvolutionGroupCount");
}
inline cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t c, cudnnMathType_t math) {
  c->math = math;
  return emulator::dnn("cudnnSetConvolutionMathType");
}
inline cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                            const cudnnFilterDescriptor_t w,
                                                            const cudnnConvolutionDescriptor_t c,
                                                            const cudnnTensorDescriptor_t y, const int most, int* count,
                                                            cudnnConvolutionFwdAlgoPerf_t* found) {
  return emulator::find("cudnnGetConvolutionForwardAlgorithm_v7", *x, *w, *y, *c, most, count, found);
}
inline cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                                                 const cudnnTensorDescriptor_t y,
                                                                 const cudnnConvolutionDescriptor_t c,
                                                                 const cudnnTensorDescriptor_t x, const int most,
                                                                 int* count, cudnnConvolutionBwdDataAlgoPerf_t* found) {
  return emulator::find("cudnnGetConvolutionBackwardDataAlgorithm_v7", *x, *w, *y, *c, most, count, found);
}
inline cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                                   const cudnnTensorDescriptor_t y,
                                                                   const cudnnConvolutionDescriptor_t c,
                                                                   const cudnnFilterDescriptor_t w, const int most,
                                                                   int* count,
                                                                   cudnnConvolutionBwdFilterAlgoPerf_t* found) {
  return emulator::find("cudnnGetConvolutionBackwardFilterAlgorithm_v7", *x, *w, *y, *c, most, count, found);
}
inline cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x,
                                             const void* from, const cudnnFilterDescriptor_t w, const void* weight,
                                             const cudnnConvolutionDescriptor_t c, cudnnConvolutionFwdAlgo_t algorithm,
                                             void* workspace, std::size_t bytes, const void* beta,
                                             const cudnnTensorDescriptor_t y, void* to) {
  return emulator::compute("cudnnConvolutionForward", handle, {0, *x, *w, *y, *c}, emulator::writable(from),
                           emulator::writable(weight), to, algorithm, workspace, bytes, alpha, beta);
}
inline cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                                  const cudnnFilterDescriptor_t w, const void* weight,
                                                  const cudnnTensorDescriptor_t y, const void* from,
                                                  const cudnnConvolutionDescriptor_t c,
                                                  cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                                  std::size_t bytes, const void* beta, const cudnnTensorDescriptor_t x,
                                                  void* to) {
  return emulator::compute("cudnnConvolutionBackwardData", handle, {1, *x, *w, *y, *c}, to, emulator::writable(weight),
                           emulator::writable(from), algorithm, workspace, bytes, alpha, beta);
}
inline cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                                    const cudnnTensorDescriptor_t x, const void* image,
                                                    const cudnnTensorDescriptor_t y, const void* from,
                                                    const cudnnConvolutionDescriptor_t c,
                                                    cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                                    std::size_t bytes, const void* beta,
                                                    const cudnnFilterDescriptor_t w, void* to) {
  return emulator::compute("cudnnConvolutionBackwardFilter", handle, {2, *x, *w, *y, *c}, emulator::writable(image), to,
                           emulator::writable(from), algorithm, workspace, bytes, alpha, beta);
}

namespace emulator {
inline const bool has_cudnn = [] {
  library_functions()["libcudnn.so.9"] = {
      {"cudnnCreate", as_symbol(&cudnnCreate)},
      {"cudnnGetErrorString", as_symbol(&cudnnGetErrorString)},
      {"cudnnSetStream", as_symbol(&cudnnSetStream)},
      {"cudnnCreateTensorDescriptor", as_symbol(&cudnnCreateTensorDescriptor)},
      {"cudnnSetTensor4dDescriptor", as_symbol(&cudnnSetTensor4dDescriptor)},
      {"cudnnCreateFilterDescriptor", as_symbol(&cudnnCreateFilterDescriptor)},
      {"cudnnSetFilter4dDescriptor", as_symbol(&cudnnSetFilter4dDescriptor)},
      {"cudnnCreateConvolutionDescriptor", as_symbol(&cudnnCreateConvolutionDescriptor)},
      {"cudnnSetConvolution2dDescriptor", as_symbol(&cudnnSetConvolution2dDescriptor)},
      {"cudnnSetConvolutionGroupCount", as_symbol(&cudnnSetConvolutionGroupCount)},
      {"cudnnSetConvolutionMathType", as_symbol(&cudnnSetConvolutionMathType)},
      {"cudnnGetConvolutionForwardAlgorithm_v7", as_symbol(&cudnnGetConvolutionForwardAlgorithm_v7)},
      {"cudnnGetConvolutionBackwardDataAlgorithm_v7", as_symbol(&cudnnGetConvolutionBackwardDataAlgorithm_v7)},
      {"cudnnGetConvolutionBackwardFilterAlgorithm_v7", as_symbol(&cudnnGetConvolutionBackwardFilterAlgorithm_v7)},
      {"cudnnConvolutionForward", as_symbol(&cudnnConvolutionForward)},
      {"cudnnConvolutionBackwardData", as_symbol(&cudnnConvolutionBackwardData)},
      {"cudnnConvolutionBackwardFilter", as_symbol(&cudnnConvolutionBackwardFilter)},
  };
  return true;
}();
}  // namespace emulator
