// cuBLASLt without a GPU: the functions that Tenon calls, on the host. They check what they get as the library does,
// and count calls. Names, values, and types of arguments are those of NVIDIA's header.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "emulated_libraries.hpp"
#include "emulated_numbers.hpp"

#define CUBLAS_VER_MAJOR 13

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cudaDataType { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
using cudaDataType_t = cudaDataType;
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasLtEpilogue_t {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_GELU_BIAS = 36,
};
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
};
enum cublasLtMatrixLayoutAttribute_t {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
};
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};

namespace emulator {

struct LtProduct {
  cublasComputeType_t sums;
  int turned_a = CUBLAS_OP_N, turned_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};
struct LtMatrix {
  cudaDataType type;
  long rows, columns, pitch;
  int count = 1;
  long next = 0;
};
struct LtPreference {
  std::uint64_t workspace = 0;
  std::uint32_t alignment[4]{256, 256, 256, 256};
};
/// What one call of cublasLtMatmul got, in its own terms.
struct LtCall {
  LtProduct product;
  LtMatrix a, b, d;
  std::size_t workspace;
};
inline std::vector<LtCall> lt_calls;
/// Tests set it: the library has no algorithm.
inline bool lt_has_no_algorithm = false;

inline cublasStatus_t lt(const char* name) {
  return failing_function == name ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
inline bool same_matrix(const LtMatrix& a, const LtMatrix& b) {
  return a.type == b.type && a.rows == b.rows && a.columns == b.columns && a.pitch == b.pitch && a.count == b.count &&
         a.next == b.next;
}
/// What a product needs of the library's rules.
inline bool fits(const LtProduct& p, const LtMatrix& a, const LtMatrix& b, const LtMatrix& d) {
  const auto turned = [](int t, const LtMatrix& x) {
    return t ? std::pair(x.columns, x.rows) : std::pair(x.rows, x.columns);
  };
  const auto [rows, steps] = turned(p.turned_a, a);
  const auto [also_steps, columns] = turned(p.turned_b, b);
  for (const LtMatrix* x : {&a, &b, &d})
    if (x->pitch < x->rows || x->count != d.count || x->type != d.type) return false;
  if ((d.type == CUDA_R_32F) != (p.sums == CUBLAS_COMPUTE_32F_FAST_TF32)) return false;
  if (d.count > 1 && d.next < d.pitch * d.columns) return false;
  return steps == also_steps && rows == d.rows && columns == d.columns;
}
inline bool is_aligned(const void* address, std::uint32_t to) {
  return reinterpret_cast<std::uintptr_t>(address) % to == 0;
}

inline void multiply(const LtProduct& p, const LtMatrix& a, const LtMatrix& b, const LtMatrix& d, const void* from_a,
                     const void* from_b, void* to) {
  const Kind kind = d.type == CUDA_R_32F ? Kind::tf32 : d.type == CUDA_R_16F ? Kind::float16 : Kind::bfloat16;
  const long steps = p.turned_a ? a.rows : a.columns;
  for (long each = 0; each < d.count; ++each)
    for (long column = 0; column < d.columns; ++column)
      for (long row = 0; row < d.rows; ++row) {
        float sum = 0;
        for (long k = 0; k < steps; ++k)
          sum += factor(from_a, each * a.next + (p.turned_a ? row * a.pitch + k : k * a.pitch + row), kind) *
                 factor(from_b, each * b.next + (p.turned_b ? k * b.pitch + column : column * b.pitch + k), kind);
        if (p.epilogue & CUBLASLT_EPILOGUE_BIAS) sum += element(p.bias, row, kind);
        if (p.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS && sum < 0) sum = 0;
        if (p.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS)
          sum = 0.5f * sum * (1 + std::tanh(0.79788456f * (sum + 0.044715f * sum * sum * sum)));
        store(to, each * d.next + column * d.pitch + row, kind, sum);
      }
}

}  // namespace emulator

using cublasLtHandle_t = int*;
using cublasLtMatmulDesc_t = emulator::LtProduct*;
using cublasLtMatrixLayout_t = emulator::LtMatrix*;
using cublasLtMatmulPreference_t = emulator::LtPreference*;
struct cublasLtMatmulAlgo_t {
  std::uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  std::size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

inline const char* cublasLtGetStatusString(cublasStatus_t) { return "an emulated failure"; }
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int one;
  *handle = &one;
  return emulator::lt("cublasLtCreate");
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t sums,
                                               cudaDataType_t scale) {
  *made = new emulator::LtProduct{sums};
  return scale == CUDA_R_32F ? emulator::lt("cublasLtMatmulDescCreate") : CUBLAS_STATUS_INVALID_VALUE;
}
inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t p, cublasLtMatmulDescAttributes_t which,
                                                     const void* from, std::size_t bytes) {
  const bool pointer = which == CUBLASLT_MATMUL_DESC_BIAS_POINTER;
  if (bytes != (pointer ? sizeof(void*) : 4)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(pointer                                ? static_cast<void*>(&p->bias)
              : which == CUBLASLT_MATMUL_DESC_TRANSA ? static_cast<void*>(&p->turned_a)
              : which == CUBLASLT_MATMUL_DESC_TRANSB ? static_cast<void*>(&p->turned_b)
                                                     : static_cast<void*>(&p->epilogue),
              from, bytes);
  return emulator::lt("cublasLtMatmulDescSetAttribute");
}
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, std::uint64_t rows,
                                                 std::uint64_t columns, std::int64_t pitch) {
  *made = new emulator::LtMatrix{type, long(rows), long(columns), long(pitch)};
  return emulator::lt("cublasLtMatrixLayoutCreate");
}
inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t m, cublasLtMatrixLayoutAttribute_t which,
                                                       const void* from, std::size_t bytes) {
  const bool count = which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
  if (bytes != (count ? 4 : 8)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(count ? static_cast<void*>(&m->count) : static_cast<void*>(&m->next), from, bytes);
  return emulator::lt("cublasLtMatrixLayoutSetAttribute");
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = new emulator::LtPreference;
  return emulator::lt("cublasLtMatmulPreferenceCreate");
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return emulator::lt("cublasLtMatmulPreferenceDestroy");
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                           cublasLtMatmulPreferenceAttributes_t which, const void* from,
                                                           std::size_t bytes) {
  const bool workspace = which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
  if (bytes != (workspace ? 8 : 4)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(workspace ? static_cast<void*>(&p->workspace)
                        : static_cast<void*>(&p->alignment[which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES]),
              from, bytes);
  return emulator::lt("cublasLtMatmulPreferenceSetAttribute");
}
/// One that needs a workspace if the chains are longer than 256 steps. It holds for these alignments.
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t p, cublasLtMatrixLayout_t a,
                                                     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                                     cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
                                                     int, cublasLtMatmulHeuristicResult_t results[], int* count) {
  *count = 0;
  if (emulator::lt_has_no_algorithm) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!emulator::fits(*p, *a, *b, *d) || !emulator::same_matrix(*c, *d)) return CUBLAS_STATUS_INVALID_VALUE;
  const std::size_t workspace = (p->turned_a ? a->rows : a->columns) > 256 ? 4096 : 0;
  if (workspace > preference->workspace) return CUBLAS_STATUS_NOT_SUPPORTED;
  cublasLtMatmulHeuristicResult_t& result = results[0];
  result.workspaceSize = workspace, result.state = CUBLAS_STATUS_SUCCESS;
  for (int i = 0; i < 4; ++i) result.algo.data[i] = preference->alignment[i];
  result.algo.data[4] = workspace;
  *count = 1;
  return emulator::lt("cublasLtMatmulAlgoGetHeuristic");
}
inline cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t p, const void* alpha, const void* from_a,
                                     cublasLtMatrixLayout_t a, const void* from_b, cublasLtMatrixLayout_t b,
                                     const void* beta, const void*, cublasLtMatrixLayout_t c, void* to,
                                     cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                     std::size_t bytes, cudaStream_t stream) {
  const auto& of = algorithm->data;
  if (!emulator::fits(*p, *a, *b, *d) || !emulator::same_matrix(*c, *d) || *static_cast<const float*>(alpha) != 1 ||
      *static_cast<const float*>(beta) != 0 || bytes < of[4] || (bytes && !workspace) ||
      ((p->epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) != (p->bias != nullptr) ||
      !emulator::is_aligned(from_a, std::uint32_t(of[0])) || !emulator::is_aligned(from_b, std::uint32_t(of[1])) ||
      !emulator::is_aligned(to, std::uint32_t(of[3])))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t status = emulator::lt("cublasLtMatmul"); status != CUBLAS_STATUS_SUCCESS) return status;
  emulator::lt_calls.push_back({*p, *a, *b, *d, bytes});
  emulator::put(stream, [=, p = *p, a = *a, b = *b, d = *d] {
    if (workspace) std::memset(workspace, 0xff, bytes);  // it is this call's alone
    emulator::multiply(p, a, b, d, from_a, from_b, to);
  });
  return CUBLAS_STATUS_SUCCESS;
}

namespace emulator {
inline const bool has_cublas_lt = [] {
  library_functions()["libcublasLt.so.13"] = {
      {"cublasLtCreate", as_symbol(&cublasLtCreate)},
      {"cublasLtGetStatusString", as_symbol(&cublasLtGetStatusString)},
      {"cublasLtMatmul", as_symbol(&cublasLtMatmul)},
      {"cublasLtMatmulAlgoGetHeuristic", as_symbol(&cublasLtMatmulAlgoGetHeuristic)},
      {"cublasLtMatmulDescCreate", as_symbol(&cublasLtMatmulDescCreate)},
      {"cublasLtMatmulDescSetAttribute", as_symbol(&cublasLtMatmulDescSetAttribute)},
      {"cublasLtMatrixLayoutCreate", as_symbol(&cublasLtMatrixLayoutCreate)},
      {"cublasLtMatrixLayoutSetAttribute", as_symbol(&cublasLtMatrixLayoutSetAttribute)},
      {"cublasLtMatmulPreferenceCreate", as_symbol(&cublasLtMatmulPreferenceCreate)},
      {"cublasLtMatmulPreferenceDestroy", as_symbol(&cublasLtMatmulPreferenceDestroy)},
      {"cublasLtMatmulPreferenceSetAttribute", as_symbol(&cublasLtMatmulPreferenceSetAttribute)},
  };
  return true;
}();
}  // namespace emulator
