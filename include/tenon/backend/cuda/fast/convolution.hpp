// Convolutions on tensor cores, by cuDNN.
#pragma once
#include <cudnn.h>

#include <array>
#include <map>

#include <tenon/backend/cuda/fast/fast_math.hpp>
#include <tenon/backend/cuda/fast/library.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// The functions of cuDNN for one convolution and its gradients, which it calls legacy: a graph of cuDNN's other
/// interface would need ten times as many.
struct Cudnn {
  static_assert(CUDNN_MAJOR == 9, "the target Cuda uses cuDNN 9");
  decltype(&cudnnCreate) create;
  decltype(&cudnnGetErrorString) error_string;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnCreateTensorDescriptor) create_images;
  decltype(&cudnnSetTensor4dDescriptor) set_images;
  decltype(&cudnnCreateFilterDescriptor) create_weight;
  decltype(&cudnnSetFilter4dDescriptor) set_weight;
  decltype(&cudnnCreateConvolutionDescriptor) create_convolution;
  decltype(&cudnnSetConvolution2dDescriptor) set_convolution;
  decltype(&cudnnSetConvolutionGroupCount) set_groups;
  decltype(&cudnnSetConvolutionMathType) set_math;
  decltype(&cudnnGetConvolutionForwardAlgorithm_v7) find_y;
  decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7) find_dx;
  decltype(&cudnnGetConvolutionBackwardFilterAlgorithm_v7) find_dw;
  decltype(&cudnnConvolutionForward) compute_y;
  decltype(&cudnnConvolutionBackwardData) compute_dx;
  decltype(&cudnnConvolutionBackwardFilter) compute_dw;

  static const Cudnn& instance() {
    static const Cudnn functions;
    return functions;
  }
  void check(cudnnStatus_t status, const char* call) const {
    if (status != CUDNN_STATUS_SUCCESS)
      throw_error<RuntimeError>("GPU: ", call, " of cuDNN failed: ", error_string(status),
                                ". Math::exact computes without cuDNN.");
  }
  /// The same, but false for what cuDNN does not compute, such as images of more than 2^31 elements. A status is a
  /// category, in thousands, and a reason.
  bool can(cudnnStatus_t status, const char* call) const {
    if (int(status) / 1000 == int(CUDNN_STATUS_NOT_SUPPORTED) / 1000) return false;
    check(status, call);
    return true;
  }

 private:
  Cudnn() {
    const LoadedLibrary library("libcudnn.so.9", "cuDNN 9 (cudnn9-cuda-13)");
    library.find(create, "cudnnCreate");
    library.find(error_string, "cudnnGetErrorString");
    library.find(set_stream, "cudnnSetStream");
    library.find(create_images, "cudnnCreateTensorDescriptor");
    library.find(set_images, "cudnnSetTensor4dDescriptor");
    library.find(create_weight, "cudnnCreateFilterDescriptor");
    library.find(set_weight, "cudnnSetFilter4dDescriptor");
    library.find(create_convolution, "cudnnCreateConvolutionDescriptor");
    library.find(set_convolution, "cudnnSetConvolution2dDescriptor");
    library.find(set_groups, "cudnnSetConvolutionGroupCount");
    library.find(set_math, "cudnnSetConvolutionMathType");
    library.find(find_y, "cudnnGetConvolutionForwardAlgorithm_v7");
    library.find(find_dx, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
    library.find(find_dw, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
    library.find(compute_y, "cudnnConvolutionForward");
    library.find(compute_dx, "cudnnConvolutionBackwardData");
    library.find(compute_dw, "cudnnConvolutionBackwardFilter");
  }
};

/// How cuDNN computes a convolution of some sizes: by the first of its algorithms, as it expects their times, that is
/// deterministic. It measures nothing, so that equal runs take the same one.
class CudnnConvolution {
 public:
  static constexpr std::size_t most_workspace = 256 << 20;

  CudnnConvolution(const Cudnn& dnn, cudnnHandle_t handle, const FastConvolution& c)
      : dnn_(dnn), handle_(handle), gives_(c.gives) {}
  bool is_prepared() const { return prepared_; }
  /// May be called again after a call of it that threw: what cuDNN has made by then is used.
  void prepare(const FastConvolution& c) {
    has_algorithm_ = false;
    const cudnnDataType_t type = c.dtype == Dtype::float32   ? CUDNN_DATA_FLOAT
                                 : c.dtype == Dtype::float16 ? CUDNN_DATA_HALF
                                                             : CUDNN_DATA_BFLOAT16;
    if (describe(image_, type, c.n, c.c, c.h, c.w) && describe(output_, type, c.n, c.o, c.oh, c.ow) &&
        describe_weight(type, c))
      find(c);
    prepared_ = true;
  }
  /// False if cuDNN has no deterministic algorithm.
  bool run(const FastConvolution& c) const {
    if (!has_algorithm_) return false;
    const float one = 1, zero = 0;
    std::byte* const workspace = workspace_ ? LaneMemory::take(LaneMemory::workspace, workspace_) : nullptr;
    void* const result = const_cast<void*>(gives_ == FastConvolution::y    ? c.output
                                           : gives_ == FastConvolution::dx ? c.image
                                                                           : c.weight);
    dnn_.check(dnn_.set_stream(handle_, running().stream), "cudnnSetStream");
    if (gives_ == FastConvolution::y)
      dnn_.check(dnn_.compute_y(handle_, &one, image_, c.image, weight_, c.weight, convolution_, y_, workspace,
                                workspace_, &zero, output_, result),
                 "cudnnConvolutionForward");
    else if (gives_ == FastConvolution::dx)
      dnn_.check(dnn_.compute_dx(handle_, &one, weight_, c.weight, output_, c.output, convolution_, dx_, workspace,
                                 workspace_, &zero, image_, result),
                 "cudnnConvolutionBackwardData");
    else
      dnn_.check(dnn_.compute_dw(handle_, &one, image_, c.image, output_, c.output, convolution_, dw_, workspace,
                                 workspace_, &zero, weight_, result),
                 "cudnnConvolutionBackwardFilter");
    return true;
  }

 private:
  bool describe(cudnnTensorDescriptor_t& images, cudnnDataType_t type, long n, long c, long h, long w) const {
    if (!images) dnn_.check(dnn_.create_images(&images), "cudnnCreateTensorDescriptor");
    return dnn_.can(dnn_.set_images(images, CUDNN_TENSOR_NCHW, type, int(n), int(c), int(h), int(w)),
                    "cudnnSetTensor4dDescriptor");
  }
  bool describe_weight(cudnnDataType_t type, const FastConvolution& c) {
    if (!weight_) dnn_.check(dnn_.create_weight(&weight_), "cudnnCreateFilterDescriptor");
    return dnn_.can(dnn_.set_weight(weight_, type, CUDNN_TENSOR_NCHW, int(c.o), int(c.c / c.groups), c.kh, c.kw),
                    "cudnnSetFilter4dDescriptor");
  }
  void find(const FastConvolution& c) {
    if (!convolution_) dnn_.check(dnn_.create_convolution(&convolution_), "cudnnCreateConvolutionDescriptor");
    dnn_.check(dnn_.set_convolution(convolution_, c.pad_top, c.pad_left, c.stride_h, c.stride_w, c.dilation_h,
                                    c.dilation_w, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
               "cudnnSetConvolution2dDescriptor");
    dnn_.check(dnn_.set_groups(convolution_, c.groups), "cudnnSetConvolutionGroupCount");
    dnn_.check(dnn_.set_math(convolution_, CUDNN_TENSOR_OP_MATH), "cudnnSetConvolutionMathType");
    if (c.gives == FastConvolution::y)
      choose<cudnnConvolutionFwdAlgoPerf_t>(y_, dnn_.find_y, image_, weight_, convolution_, output_);
    else if (c.gives == FastConvolution::dx)
      choose<cudnnConvolutionBwdDataAlgoPerf_t>(dx_, dnn_.find_dx, weight_, output_, convolution_, image_);
    else choose<cudnnConvolutionBwdFilterAlgoPerf_t>(dw_, dnn_.find_dw, image_, output_, convolution_, weight_);
  }
  template <class Found, class Algorithm, class Find, class... Descriptors>
  void choose(Algorithm& chosen, Find find, Descriptors... of) {
    Found all[most_algorithms];
    int count = 0;
    if (!dnn_.can(find(handle_, of..., most_algorithms, &count, all), "the choice of an algorithm")) return;
    for (int i = 0; i < count && !has_algorithm_; ++i) {
      const Found& each = all[i];
      if (each.status != CUDNN_STATUS_SUCCESS || each.determinism != CUDNN_DETERMINISTIC ||
          each.memory > most_workspace)
        continue;
      chosen = each.algo, workspace_ = each.memory, has_algorithm_ = true;
      dnn_.check(dnn_.set_math(convolution_, each.mathType), "cudnnSetConvolutionMathType");
    }
  }
  static constexpr int most_algorithms = 16;

  const Cudnn& dnn_;
  cudnnHandle_t handle_;
  FastConvolution::Gives gives_;
  cudnnTensorDescriptor_t image_ = nullptr, output_ = nullptr;
  cudnnFilterDescriptor_t weight_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  cudnnConvolutionFwdAlgo_t y_{};
  cudnnConvolutionBwdDataAlgo_t dx_{};
  cudnnConvolutionBwdFilterAlgo_t dw_{};
  std::size_t workspace_ = 0;
  bool prepared_ = false, has_algorithm_ = false;
};

/// What was asked for so far, for all GPUs; kept for ever, as the queues.
class CudnnConvolutions {
 public:
  static CudnnConvolutions& instance() {
    static CudnnConvolutions* const all = new CudnnConvolutions;
    return *all;
  }
  bool run(const FastConvolution& c) {
    const Cudnn& dnn = Cudnn::instance();
    const std::lock_guard lock(mutex_);
    const int device = device_of_thread();
    cudnnHandle_t& handle = handles_[device];
    if (!handle) dnn.check(dnn.create(&handle), "cudnnCreate");
    const Key key{device,    long(c.gives), long(c.dtype), c.n,          c.c,     c.h,        c.w,
                  c.o,       c.oh,          c.ow,          c.kh,         c.kw,    c.stride_h, c.stride_w,
                  c.pad_top, c.pad_left,    c.dilation_h,  c.dilation_w, c.groups};
    CudnnConvolution& convolution = convolutions_.try_emplace(key, dnn, handle, c).first->second;
    if (!convolution.is_prepared()) convolution.prepare(c);
    return convolution.run(c);
  }

 private:
  using Key = std::array<long, 19>;
  std::mutex mutex_;
  std::map<int, cudnnHandle_t> handles_;
  std::map<Key, CudnnConvolution> convolutions_;
};

}  // namespace tenon::kernel::cuda
