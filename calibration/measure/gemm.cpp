// Matrix products through cuBLAS, called as PyTorch calls it: row-major x[m,k] W[n,k]^T, seen by
// cuBLAS as a column-major W^T-times-x ("TN") product, 32 MiB of workspace, the library's own first
// choice of kernel. bf16 goes through cublasGemmEx (what torch.matmul uses) or cublasLt; fp8 e4m3
// through cublasLt with one scale per tensor and bf16 output, as torch._scaled_mm does.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>

#include "family.hpp"
#include "gemm_shapes.hpp"
#include "kernel_name.hpp"

namespace foretoken::measure {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // PyTorch's on Hopper
constexpr std::size_t scale_stride = 64;  // cublasLt wants each scale 16-byte aligned

void check_blas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

/// Handles, workspace and the two fp8 scales, shared by all shapes of a family.
struct Blas {
  cublasHandle_t handle = nullptr;
  cublasLtHandle_t lt = nullptr;
  void* workspace = nullptr;
  float* scales = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

  explicit Blas(const Gpu& gpu) {
    check_blas(cublasCreate(&handle), "opening cuBLAS");
    check_blas(cublasLtCreate(&lt), "opening cublasLt");
    check(cudaMalloc(&workspace, workspace_bytes), "allocating the workspace");
    check(cudaMalloc(&scales, 2 * scale_stride * sizeof(float)), "allocating the scales");
    const std::vector<float> ones(2 * scale_stride, 1.0f);
    check(cudaMemcpy(scales, ones.data(), ones.size() * sizeof(float), cudaMemcpyHostToDevice),
          "setting the scales");
    check_blas(cublasSetStream(handle, gpu.stream), "setting the stream");
    check_blas(cublasSetWorkspace(handle, workspace, workspace_bytes), "setting the workspace");
    check_blas(cublasLtMatmulPreferenceCreate(&preference), "creating a preference");
    check_blas(
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof workspace_bytes),
        "setting the preference");
  }
  ~Blas() {
    cublasLtMatmulPreferenceDestroy(preference);
    cudaFree(scales);
    cudaFree(workspace);
    cublasLtDestroy(lt);
    cublasDestroy(handle);
  }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
};

/// One product planned by cublasLt: descriptors and the heuristic's first algorithm.
class LtPlan {
 public:
  LtPlan(std::shared_ptr<Blas> blas, const GemmShape& shape, cudaDataType_t type, bool fast)
      : blas_(std::move(blas)) {
    check_blas(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing");
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    if (type == CUDA_R_8F_E4M3) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(blas_->scales));
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
          static_cast<const void*>(blas_->scales + scale_stride));
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(fast));
    }
    const auto m = static_cast<std::uint64_t>(shape.m), n = static_cast<std::uint64_t>(shape.n),
               k = static_cast<std::uint64_t>(shape.k);
    check_blas(cublasLtMatrixLayoutCreate(&weights_, type, k, n, shape.k), "describing W");
    check_blas(cublasLtMatrixLayoutCreate(&inputs_, type, k, m, shape.k), "describing x");
    check_blas(cublasLtMatrixLayoutCreate(&outputs_, CUDA_R_16BF, n, m, shape.n), "describing y");
    int found = 0;
    check_blas(cublasLtMatmulAlgoGetHeuristic(blas_->lt, operation_, weights_, inputs_, outputs_,
                                              outputs_, blas_->preference, 1, &choice_, &found),
               "choosing an algorithm");
    if (found == 0) throw std::runtime_error("cublasLt has no algorithm for this shape");
  }
  ~LtPlan() {
    cublasLtMatrixLayoutDestroy(outputs_);
    cublasLtMatrixLayoutDestroy(inputs_);
    cublasLtMatrixLayoutDestroy(weights_);
    cublasLtMatmulDescDestroy(operation_);
  }
  LtPlan(const LtPlan&) = delete;
  LtPlan& operator=(const LtPlan&) = delete;

  void run(const std::byte* weights, const std::byte* inputs, std::byte* outputs,
           cudaStream_t stream) const {
    const float one = 1.0f, zero = 0.0f;
    check_blas(cublasLtMatmul(blas_->lt, operation_, &one, weights, weights_, inputs, inputs_,
                              &zero, outputs, outputs_, outputs, outputs_, &choice_.algo,
                              blas_->workspace, workspace_bytes, stream),
               "cublasLtMatmul");
  }

  int split_k() const {
    std::int32_t value = 1;
    std::size_t written = 0;
    cublasLtMatmulAlgoConfigGetAttribute(&choice_.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &value,
                                         sizeof value, &written);
    return value;
  }

 private:
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    check_blas(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value),
               "describing the product");
  }
  std::shared_ptr<Blas> blas_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t weights_ = nullptr, inputs_ = nullptr, outputs_ = nullptr;
  cublasLtMatmulHeuristicResult_t choice_ = {};
};

std::size_t rounded(std::size_t bytes) { return (bytes + 1023) / 1024 * 1024; }

struct Product {
  GemmShape shape;
  cudaDataType_t type = CUDA_R_16BF;
  bool fast_accumulation = true;
  bool through_lt = false;

  std::size_t element_bytes() const { return type == CUDA_R_16BF ? 2 : 1; }
  std::size_t weight_bytes() const {
    return rounded(static_cast<std::size_t>(shape.n * shape.k) * element_bytes());
  }
  /// Tera-operations a second on a GPU of 2024: hot products slow the clock for those after them.
  double heat() const {
    const double ops = 2.0 * static_cast<double>(shape.m * shape.n * shape.k);
    const Footprint bytes = footprint();
    const double us =
        std::max({ops * static_cast<double>(element_bytes()) / 1.4e9,
                  static_cast<double>(bytes.input_bytes + bytes.output_bytes) / 4e6, 4.0});
    return ops / (us * 1e6);
  }
  Footprint footprint() const {
    return {.input_bytes =
                weight_bytes() + static_cast<std::size_t>(shape.m * shape.k) * element_bytes(),
            .output_bytes = static_cast<std::size_t>(shape.m * shape.n) * 2};
  }
};

void run_gemm_ex(const Blas& blas, const GemmShape& shape, const std::byte* weights,
                 const std::byte* inputs, std::byte* outputs) {
  const float one = 1.0f, zero = 0.0f;
  const int m = static_cast<int>(shape.m), n = static_cast<int>(shape.n),
            k = static_cast<int>(shape.k);
  check_blas(cublasGemmEx(blas.handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, weights,
                          CUDA_R_16BF, k, inputs, CUDA_R_16BF, k, &zero, outputs, CUDA_R_16BF, n,
                          CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
             "cublasGemmEx");
}

Launch launcher(const std::shared_ptr<Blas>& blas, const Product& product,
                const std::shared_ptr<std::optional<LtPlan>>& plan) {
  return [blas, product, plan](const Buffers& buffers, cudaStream_t stream) {
    const std::byte* inputs = buffers.input + product.weight_bytes();
    if (!product.through_lt) {
      run_gemm_ex(*blas, product.shape, buffers.input, inputs, buffers.output);
      return;
    }
    if (!plan->has_value())
      plan->emplace(blas, product.shape, product.type, product.fast_accumulation);
    (*plan)->run(buffers.input, inputs, buffers.output, stream);
  };
}

std::vector<std::string> described(const LaunchIdentity& identity, const std::string& split) {
  for (const KernelLaunch& launch : identity) {
    const auto name = parse_gemm_kernel_name(launch.name);
    if (!name) continue;
    return {name->family,
            std::to_string(name->tile_m),
            std::to_string(name->tile_n),
            std::to_string(name->tile_k),
            std::to_string(name->stages),
            std::to_string(name->cluster_m),
            std::to_string(name->cluster_n),
            name->raster,
            name->coop,
            split,
            name->split_k ? "1" : "0",
            name->layout};
  }
  return {"other", "0", "0", "0", "0", "0", "0", "", "", split, "0", ""};
}

Family make_gemm(const Gpu& gpu, const FamilyOptions& options, std::string name,
                 std::vector<Product> products) {
  const auto blas = std::make_shared<Blas>(gpu);
  const bool fp8 = products.empty() ? false : products[0].type == CUDA_R_8F_E4M3;
  const bool through_lt = fp8 || options.gemm_api == "lt";
  Family family;
  family.name = std::move(name);
  family.fill = fp8 ? Fill::e4m3 : Fill::bf16;
  family.columns = {"kernel", "framework", "kernel_source", "m", "n", "k", "dtype"};
  if (fp8) family.columns.push_back("fast_accumulation");
  family.provenance = {
      {"cublas", std::to_string(cublasLtGetVersion())},
      {"api", through_lt ? "cublasLtMatmul, first algorithm of the heuristic" : "cublasGemmEx"},
      {"workspace_bytes", std::to_string(workspace_bytes)}};
  family.described_columns = {"tile_family", "tile_m",       "tile_n",       "tile_k",
                              "stages",      "cluster_m",    "cluster_n",    "raster",
                              "coop",        "split_k_plan", "split_k_name", "layout"};
  for (Product product : products) {
    product.through_lt = through_lt;
    const auto plan = std::make_shared<std::optional<LtPlan>>();
    const GemmShape& s = product.shape;
    Case one;
    one.fields = {"gemm",
                  "pytorch",
                  fp8 ? "cublas_fp8" : "cublas",
                  std::to_string(s.m),
                  std::to_string(s.n),
                  std::to_string(s.k),
                  fp8 ? "fp8" : "bf16"};
    if (fp8) one.fields.push_back(product.fast_accumulation ? "1" : "0");
    one.coordinates = {std::log2(s.m), std::log2(s.n), std::log2(s.k)};
    one.footprint = product.footprint();
    one.heat = product.heat();
    one.launch = launcher(blas, product, plan);
    one.split_k = [plan] { return plan->has_value() ? (*plan)->split_k() : 0; };
    family.cases.push_back(std::move(one));
  }
  family.describe = [](const Case& one, const LaunchIdentity& identity) {
    const int split = one.split_k();
    return described(identity, split == 0 ? "" : std::to_string(split));
  };
  return family;
}

std::vector<GemmShape> shapes_for(const FamilyOptions& options, int multiple, int per_layer) {
  if (!options.shapes_file.empty()) return read_gemm_shapes(options.shapes_file);
  return gemm_shapes(options.seed, multiple, per_layer);
}

}  // namespace

Family gemm_bf16(const Gpu& gpu, const FamilyOptions& options) {
  std::vector<Product> products;
  for (const GemmShape& shape : shapes_for(options, 8, 24)) products.push_back({.shape = shape});
  return make_gemm(gpu, options, "gemm_bf16", std::move(products));
}

Family gemm_fp8(const Gpu& gpu, const FamilyOptions& options) {
  std::vector<Product> products;
  const std::vector<GemmShape> shapes = shapes_for(options, 16, 12);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    products.push_back({.shape = shapes[i], .type = CUDA_R_8F_E4M3});
    // One in eight also with the slower, exact accumulation that torch._scaled_mm defaults to.
    if (i % 8 == 0)
      products.push_back({.shape = shapes[i], .type = CUDA_R_8F_E4M3, .fast_accumulation = false});
  }
  return make_gemm(gpu, options, "gemm_fp8", std::move(products));
}

}  // namespace foretoken::measure
