// Products of matrices on tensor cores, by cuBLASLt.
#pragma once
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include <tenon/backend/cuda/fast/fast_math.hpp>
#include <tenon/backend/cuda/fast/library.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// The functions of cuBLASLt.
struct CublasLt {
  static_assert(CUBLAS_VER_MAJOR == 13, "the target Cuda uses cuBLAS 13, which CUDA 13 has");
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithm;
  decltype(&cublasLtMatmulDescCreate) create_product;
  decltype(&cublasLtMatmulDescSetAttribute) set_product;
  decltype(&cublasLtMatrixLayoutCreate) create_matrix;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_matrix;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;

  static const CublasLt& instance() {
    static const CublasLt functions;
    return functions;
  }
  void check(cublasStatus_t status, const char* call) const {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw_error<RuntimeError>("GPU: ", call, " of cuBLASLt failed: ", status_string(status),
                                ". Math::exact computes without cuBLASLt.");
  }

 private:
  CublasLt() {
    const LoadedLibrary library("libcublasLt.so.13", "cuBLAS 13 (libcublas-13-0), a part of the CUDA Toolkit");
    library.find(create, "cublasLtCreate");
    library.find(status_string, "cublasLtGetStatusString");
    library.find(matmul, "cublasLtMatmul");
    library.find(find_algorithm, "cublasLtMatmulAlgoGetHeuristic");
    library.find(create_product, "cublasLtMatmulDescCreate");
    library.find(set_product, "cublasLtMatmulDescSetAttribute");
    library.find(create_matrix, "cublasLtMatrixLayoutCreate");
    library.find(set_matrix, "cublasLtMatrixLayoutSetAttribute");
    library.find(create_preference, "cublasLtMatmulPreferenceCreate");
    library.find(destroy_preference, "cublasLtMatmulPreferenceDestroy");
    library.find(set_preference, "cublasLtMatmulPreferenceSetAttribute");
  }
};

/// How cuBLASLt computes products of some sizes. Its matrices are columns after columns, so it gets the transposed
/// ones: result^T = b^T a^T. The algorithm is chosen once, by what is known before: equal runs take the same one.
class CublasProduct {
 public:
  static constexpr std::size_t most_workspace = 32 << 20;  // what NVIDIA recommends for Hopper

  CublasProduct(const CublasLt& lt, cublasLtHandle_t handle) : lt_(lt), handle_(handle) {}
  bool is_prepared() const { return prepared_; }
  /// May be called again after a call of it that threw: what cuBLASLt has made by then is used.
  void prepare(const FastProduct& p) {
    const cudaDataType type = p.dtype == Dtype::float32   ? CUDA_R_32F
                              : p.dtype == Dtype::float16 ? CUDA_R_16F
                                                          : CUDA_R_16BF;
    const cublasComputeType_t sums = p.dtype == Dtype::float32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    if (!product_) lt_.check(lt_.create_product(&product_, sums, CUDA_R_32F), "cublasLtMatmulDescCreate");
    set_product(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t(p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
    set_product(CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t(p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
    if (p.bias) {
      set_product(CUBLASLT_MATMUL_DESC_EPILOGUE,
                  std::uint32_t(p.activation == FastActivation::relu   ? CUBLASLT_EPILOGUE_RELU_BIAS
                                : p.activation == FastActivation::gelu ? CUBLASLT_EPILOGUE_GELU_BIAS
                                                                       : CUBLASLT_EPILOGUE_BIAS));
      set_product(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    }
    describe(b_, type, p.columns, p.steps, p.b_transposed, p.stack, p.b_next);
    describe(a_, type, p.steps, p.rows, p.a_transposed, p.stack, p.a_next);
    describe(result_, type, p.columns, p.rows, false, p.stack, p.rows * p.columns);
    choose(p);
    prepared_ = true;
  }
  /// False if cuBLASLt has no algorithm.
  bool run(const FastProduct& p) const {
    if (!has_algorithm_) return false;
    if (p.bias) set_product(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const float one = 1, zero = 0;
    std::byte* const workspace = workspace_ ? LaneMemory::take(LaneMemory::workspace, workspace_) : nullptr;
    lt_.check(lt_.matmul(handle_, product_, &one, p.b, b_, p.a, a_, &zero, p.result, result_, p.result, result_,
                         &algorithm_, workspace, workspace_, running().stream),
              "cublasLtMatmul");
    return true;
  }
  /// The largest power of two up to 256 that divides an address.
  static std::uint32_t alignment(const void* address) {
    return std::uint32_t(1) << std::min(8, std::countr_zero(reinterpret_cast<std::uintptr_t>(address)));
  }

 private:
  template <class T>
  void set_product(cublasLtMatmulDescAttributes_t attribute, T value) const {
    lt_.check(lt_.set_product(product_, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  /// One that is used as [rows, columns].
  void describe(cublasLtMatrixLayout_t& matrix, cudaDataType type, long rows, long columns, bool transposed, long stack,
                long next) const {
    if (transposed) std::swap(rows, columns);
    if (!matrix)
      lt_.check(lt_.create_matrix(&matrix, type, std::uint64_t(rows), std::uint64_t(columns), rows),
                "cublasLtMatrixLayoutCreate");
    const auto count = std::int32_t(stack);
    const std::int64_t offset = next;
    lt_.check(lt_.set_matrix(matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
              "cublasLtMatrixLayoutSetAttribute");
    lt_.check(lt_.set_matrix(matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset),
              "cublasLtMatrixLayoutSetAttribute");
  }
  void choose(const FastProduct& p) {
    if (!preference_) lt_.check(lt_.create_preference(&preference_), "cublasLtMatmulPreferenceCreate");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      lt_.check(lt_.set_preference(preference_, attribute, &value, sizeof value),
                "cublasLtMatmulPreferenceSetAttribute");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t(most_workspace));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(p.b));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(p.a));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(p.result));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(p.result));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        lt_.find_algorithm(handle_, product_, b_, a_, result_, result_, preference_, 1, &best, &found);
    lt_.check(lt_.destroy_preference(std::exchange(preference_, nullptr)), "cublasLtMatmulPreferenceDestroy");
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) lt_.check(status, "cublasLtMatmulAlgoGetHeuristic");
    has_algorithm_ = status == CUBLAS_STATUS_SUCCESS && found > 0 && best.state == CUBLAS_STATUS_SUCCESS;
    algorithm_ = best.algo, workspace_ = best.workspaceSize;
  }

  const CublasLt& lt_;
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, result_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;  // while an algorithm is chosen
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t workspace_ = 0;
  bool prepared_ = false, has_algorithm_ = false;
};

/// What was asked for so far, for all GPUs; kept for ever, as the queues.
class CublasProducts {
 public:
  static CublasProducts& instance() {
    static CublasProducts* const all = new CublasProducts;
    return *all;
  }
  bool run(const FastProduct& p) {
    const CublasLt& lt = CublasLt::instance();
    const std::lock_guard lock(mutex_);
    const int device = device_of_thread();
    cublasLtHandle_t& handle = handles_[device];
    if (!handle) lt.check(lt.create(&handle), "cublasLtCreate");
    const Key key{device,
                  long(p.dtype),
                  p.rows,
                  p.columns,
                  p.steps,
                  p.stack,
                  p.a_transposed + 2 * p.b_transposed,
                  p.a_next,
                  p.b_next,
                  long(p.activation),
                  alignment(p.a),
                  alignment(p.b),
                  alignment(p.result),
                  p.bias ? alignment(p.bias) : 0};
    CublasProduct& product = products_.try_emplace(key, lt, handle).first->second;
    if (!product.is_prepared()) product.prepare(p);
    return product.run(p);
  }

 private:
  using Key = std::array<long, 14>;
  static long alignment(const void* address) { return CublasProduct::alignment(address); }

  std::mutex mutex_;
  std::map<int, cublasLtHandle_t> handles_;
  std::map<Key, CublasProduct> products_;
};

}  // namespace tenon::kernel::cuda
