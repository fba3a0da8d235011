#include "kernels/implementation.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace foretoken {
namespace {

struct Alias {
  std::string_view part;  // of the name, in lower case
  KernelSource source;
};

// Parts of the names that vLLM 0.14 to 0.24, SGLang 0.5 and AIConfigurator's tables use. The first
// that occurs decides, so the more specific ones come first.
constexpr auto aliases = std::to_array<Alias>({
    {"flashmla", KernelSource::flash_mla},
    {"flash_attn_mla", KernelSource::flash_mla},
    {"marlin", KernelSource::marlin},
    {"machete", KernelSource::marlin},
    {"trtllm", KernelSource::trtllm},
    {"deepgemm", KernelSource::deep_gemm},
    {"deep_gemm", KernelSource::deep_gemm},
    {"cutedsl", KernelSource::cute_dsl},
    {"cute_dsl", KernelSource::cute_dsl},
    {"cutlass", KernelSource::cutlass},
    {"scaled_mm", KernelSource::cutlass},
    {"triton", KernelSource::triton},
    {"fa4", KernelSource::flash_attention_4},
    {"flashinfer_fa3", KernelSource::flashinfer_fa3},
    {"flashinfer_fa2", KernelSource::flashinfer_fa2},
    {"fidecode", KernelSource::flashinfer_decode_tc},
    {"fiprefill", KernelSource::flashinfer_fa2},
    {"attention_v4", KernelSource::flash_attention_4},
    {"attention_v3", KernelSource::flash_attention_3},
    {"fa3", KernelSource::flash_attention_3},
    {"fa2", KernelSource::flash_attention_2},
    {"flash_att", KernelSource::flash_attention_2},
    {"flashinferfp8block", KernelSource::deep_gemm},
    {"flashinfer", KernelSource::flashinfer_fa2},
    {"fused_moe", KernelSource::triton},
    {"torch_flash", KernelSource::flash_attention_2},
    // TensorRT-LLM's tables name the flow that calls: experts are CUTLASS's but for Blackwell's
    // own.
    {"moe_torch_flow_min_latency", KernelSource::trtllm},
    {"moe_torch_flow", KernelSource::cutlass},
    {"torch_flow", KernelSource::automatic},
    {"torch", KernelSource::cublas},
    {"cublas", KernelSource::cublas},
    {"default", KernelSource::automatic},
});

}  // namespace

std::optional<KernelSource> find_kernel_source(std::string_view text) {
  if (const auto exact = parse_enum<KernelSource>(text)) return exact;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Alias& alias : aliases) {
    if (lower.find(alias.part) != std::string::npos) return alias.source;
  }
  if (parse_enum<Framework>(lower)) return KernelSource::automatic;  // "sglang": its own choice
  return std::nullopt;
}

}  // namespace foretoken
