// Whose code runs a kernel: the same operation is different kernels in different frameworks, up to
// several times apart, so framework and source are inputs to a price and not noise.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/enum_names.hpp"

namespace foretoken {

enum class Framework : std::uint8_t { vllm, sglang, trtllm, pytorch };
template <>
struct EnumNames<Framework> {
  static constexpr auto names =
      std::to_array<std::string_view>({"vllm", "sglang", "trtllm", "pytorch"});
};

/// Families of implementations. `automatic` is what the framework would choose on the GPU.
enum class KernelSource : std::uint8_t {
  automatic,
  // attention
  flashinfer_fa2,
  flashinfer_fa3,
  flashinfer_decode,
  flashinfer_decode_tc,
  flash_attention_2,
  flash_attention_3,
  flash_attention_4,
  trtllm,  // TensorRT-LLM's attention and MoE kernels for Blackwell, as FlashInfer ships them
  flash_mla,
  // matrix products and experts
  cublas,
  cutlass,
  deep_gemm,
  deep_gemm_routed,  // experts that only have the rows that DeepEP brought
  cute_dsl,
  marlin,  // 4 and 8-bit weights with 16-bit activations; Machete on Hopper is priced alike
  // any
  triton,
};
template <>
struct EnumNames<KernelSource> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"automatic", "flashinfer_fa2", "flashinfer_fa3", "flashinfer_decode", "flashinfer_decode_tc",
       "flash_attention_2", "flash_attention_3", "flash_attention_4", "trtllm", "flash_mla",
       "cublas", "cutlass", "deep_gemm", "deep_gemm_routed", "cute_dsl", "marlin", "triton"});
};

struct Implementation {
  Framework framework = Framework::vllm;
  KernelSource source = KernelSource::automatic;
  /// Cold: inputs and weights come from DRAM, as in serving, where each layer has its own. Warm:
  /// the launch is repeated on one buffer, as most benchmark tables are measured.
  bool is_cold = false;
  friend bool operator==(const Implementation&, const Implementation&) = default;
};

/// Recognises a source's own name and what frameworks and datasets call it ("vllm_flash_attn_fa3",
/// "torch.nn.functional.linear", "sglang_deepgemm_gemm_nt_f8f8bf16" …); nullopt for anything else.
std::optional<KernelSource> find_kernel_source(std::string_view text);

}  // namespace foretoken
