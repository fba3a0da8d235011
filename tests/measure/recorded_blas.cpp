// cuBLAS on the recorded GPU: a product launches what was recorded for its sizes, and has no
// algorithm where nothing was.
#include "tests/measure/gpu/cublasLt.h"
#include "tests/measure/recorded_gpu.hpp"

using foretoken::recorded::Recording;
using foretoken::recorded::Row;

struct cublasContext {
  cudaStream_t stream = nullptr;
};
struct cublasLtMatmulDescOpaque {
  bool transposes_a = false, fast_accumulation = true;
};
struct cublasLtMatrixLayoutOpaque {
  cudaDataType_t type;
  std::uint64_t rows, columns;
};

extern "C" {

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "not supported";
}
cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

// Row-major x[m,k] W[n,k]^T is the column-major n x m product of W^T and x.
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m,
                            int n, int k, const void*, const void* a, cudaDataType_t, int,
                            const void* b, cudaDataType_t, int, const void*, void* c,
                            cudaDataType_t, int, cublasComputeType_t, cublasGemmAlgo_t) {
  const Row* const row = Recording::get().product(n, m, k, "bf16", true);
  if (row == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  foretoken::recorded::enqueue_call(handle->stream, *row, {a, b, c});
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() {
  return static_cast<std::size_t>(Recording::get().said_number("cublas", 130100));
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t*) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t,
                                        cudaDataType_t) {
  *operation = new cublasLtMatmulDescOpaque;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete operation;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t) {
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA)
    operation->transposes_a = *static_cast<const cublasOperation_t*>(value) == CUBLAS_OP_T;
  if (attribute == CUBLASLT_MATMUL_DESC_FAST_ACCUM)
    operation->fast_accumulation = *static_cast<const std::int8_t*>(value) != 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns, std::int64_t) {
  *layout = new cublasLtMatrixLayoutOpaque{type, rows, columns};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  const bool fits = operation->transposes_a && a->rows == b->rows && d->rows == a->columns &&
                    d->columns == b->columns;
  const Row* const row = Recording::get().product(
      static_cast<std::int64_t>(b->columns), static_cast<std::int64_t>(a->columns),
      static_cast<std::int64_t>(a->rows), a->type == CUDA_R_16BF ? "bf16" : "fp8",
      operation->fast_accumulation);
  *found = fits && row != nullptr ? 1 : 0;
  results->algo.data[0] = row;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t,
                                                    void* value, std::size_t,
                                                    std::size_t* written) {
  const auto& row = *static_cast<const Row*>(algorithm->data[0]);
  *static_cast<std::int32_t*>(value) = static_cast<std::int32_t>(row.number("split_k_plan"));
  *written = sizeof(std::int32_t);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void* a,
                              cublasLtMatrixLayout_t, const void* b, cublasLtMatrixLayout_t,
                              const void*, const void*, cublasLtMatrixLayout_t, void* d,
                              cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm, void*,
                              std::size_t, cudaStream_t stream) {
  foretoken::recorded::enqueue_call(stream, *static_cast<const Row*>(algorithm->data[0]),
                                    {a, b, d});
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
