#include "calibration/datasets/exclusions.hpp"

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

/// No matrix product on an H100, which throttles under such load, reaches this share of the tensor
/// peak: a bf16 row above it is a misreading (one is; the next reads 0.957).
constexpr double h100_peak_share_max = 0.96;

std::optional<std::string_view> gemm_reason(const Gemm& gemm, const Sample& sample,
                                            const GpuSpec& gpu) {
  if (gemm.dtype == DType::fp8_block && gemm.implementation.framework == Framework::vllm &&
      sample.origin == "aiconfigurator") {
    return "bound by the host: the fastest vLLM fp8_block row takes 55 to 282 us where SGLang's "
           "takes 3 to 8 us";
  }
  if (gemm.implementation.framework == Framework::trtllm && bytes_per_element(gemm.dtype) >= 2) {
    return "cuBLAS's 16-bit products under TensorRT-LLM: others' tables have them, within 3 to 5 %";
  }
  const double peak = gpu.tensor_rate(gemm.dtype).value();
  const double flops = kernel_work(Kernel(gemm)).tensor_flops;
  if (gpu.name == "h100-sxm" && gemm.dtype == DType::bf16 &&
      flops > h100_peak_share_max * peak * sample.time.value()) {
    return "faster than 96 % of the tensor peak allows";
  }
  return std::nullopt;
}

std::optional<std::string_view> moe_reason(const Sample& sample) {
  if (sample.gpu.starts_with("h") && sample.source_name.starts_with("vllm_modeloptfp8moe") &&
      sample.source_name.find("cutlass") != std::string::npos) {
    return "two to three times slower than bf16 on the same GPU: the path is not the tuned one";
  }
  if (sample.source_name == "moe_torch_flow_min_latency") {
    return "Blackwell's own experts under TensorRT-LLM: others' tables have them";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> exclusion_reason(const Sample& sample, const GpuSpec& gpu) {
  if (!(sample.time.value() > 0)) return "no time";
  if (sample.source_name == "torch_cudnn")
    return "cuDNN's attention: no serving framework calls it";
  if (sample.source_name == "torch_flow_flashinfer") {
    return "FlashInfer under TensorRT-LLM: few layouts on one GPU, none of which it serves by "
           "default";
  }
  if (const auto* gemm = std::get_if<Gemm>(&sample.kernel)) return gemm_reason(*gemm, sample, gpu);
  if (std::holds_alternative<FusedMoe>(sample.kernel)) return moe_reason(sample);
  return std::nullopt;
}

}  // namespace foretoken
