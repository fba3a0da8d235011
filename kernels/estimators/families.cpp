// The estimator families. A family is one file beside this one: a class in an anonymous namespace
// and a function that hands out its only instance,
//     const EstimatorFamily& gemm_16bit_family() { static const Gemm16Bit family; return family; }
// To add one: declare the function below, add it to the list (the first that covers a kernel wins),
// train it (foretoken-calibrate train --family gemm_16bit) and commit the artifact. Families that
// have nothing to be trained on stand in a list of their own and say their first_order_error().
#include "kernels/estimators/estimator.hpp"
#include "kernels/estimators/stream_model.hpp"

namespace foretoken {

const EstimatorFamily& gemm_weight_only_family();
const EstimatorFamily& gemm_16bit_family();
const EstimatorFamily& gemm_fp8_family();
const EstimatorFamily& gemm_fp8_block_family();
const EstimatorFamily& gemm_4bit_family();
const EstimatorFamily& gemm_fp8_trtllm_family();
const EstimatorFamily& gemm_fp8_block_trtllm_family();
const EstimatorFamily& gemm_4bit_trtllm_family();

const EstimatorFamily& moe_marlin_family();
const EstimatorFamily& moe_deep_gemm_family();
const EstimatorFamily& moe_deep_gemm_routed_family();
const EstimatorFamily& moe_triton_16bit_family();
const EstimatorFamily& moe_triton_8bit_family();
const EstimatorFamily& moe_trtllm_family();
const EstimatorFamily& moe_cutlass_family();
const EstimatorFamily& moe_cutlass_trtllm_family();

const EstimatorFamily& attention_bare_family();
const EstimatorFamily& attention_torch_family();
const EstimatorFamily& attention_decode_family();
const EstimatorFamily& attention_decode_triton_family();
const EstimatorFamily& attention_decode_trtllm_family();
const EstimatorFamily& attention_encoder_family();
const EstimatorFamily& attention_prefill_family();
const EstimatorFamily& attention_prefill_triton_family();
const EstimatorFamily& attention_prefill_trtllm_family();
const EstimatorFamily& mla_decode_family();
const EstimatorFamily& mla_decode_trtllm_family();
const EstimatorFamily& mla_prefill_family();
const EstimatorFamily& mla_prefill_expanded_family();

const EstimatorFamily& rms_norm_family();
const EstimatorFamily& fused_add_rms_norm_family();
const EstimatorFamily& qk_norm_family();
const EstimatorFamily& sampling_family();
const EstimatorFamily& sampling_greedy_family();
const EstimatorFamily& draft_verification_family();
const EstimatorFamily& draft_verification_greedy_family();
const EstimatorFamily& topk_routing_family();

const EstimatorFamily& state_scan_prefill_family();
const EstimatorFamily& state_scan_decode_family();
const EstimatorFamily& mamba_decode_family();
const EstimatorFamily& state_convolution_family();
const EstimatorFamily& key_indexer_family();
const EstimatorFamily& sparse_attention_family();
const EstimatorFamily& block_index_family();
const EstimatorFamily& block_attention_family();
const EstimatorFamily& latent_decode_family();
const EstimatorFamily& hyper_connection_family();
const EstimatorFamily& heads_product_family();

namespace {

void add_elementwise(bool is_trained, std::vector<const EstimatorFamily*>& families) {
  for (const EstimatorFamily* family : elementwise_families()) {
    if ((family->first_order_error() == 0) == is_trained) families.push_back(family);
  }
}

std::vector<const EstimatorFamily*> trained_families() {
  std::vector<const EstimatorFamily*> families = {&gemm_16bit_family(),
                                                  &gemm_fp8_family(),
                                                  &gemm_fp8_block_family(),
                                                  &gemm_4bit_family(),
                                                  &gemm_fp8_trtllm_family(),
                                                  &gemm_fp8_block_trtllm_family(),
                                                  &gemm_4bit_trtllm_family(),
                                                  &moe_triton_16bit_family(),
                                                  &moe_triton_8bit_family(),
                                                  &moe_trtllm_family(),
                                                  &moe_cutlass_family(),
                                                  &moe_cutlass_trtllm_family(),
                                                  &attention_bare_family(),
                                                  &attention_torch_family(),
                                                  &attention_decode_family(),
                                                  &attention_decode_triton_family(),
                                                  &attention_prefill_family(),
                                                  &attention_prefill_triton_family(),
                                                  &attention_decode_trtllm_family(),
                                                  &attention_prefill_trtllm_family(),
                                                  &attention_encoder_family(),
                                                  &mla_decode_family(),
                                                  &mla_decode_trtllm_family(),
                                                  &mla_prefill_family(),
                                                  &rms_norm_family(),
                                                  &fused_add_rms_norm_family(),
                                                  &qk_norm_family()};
  add_elementwise(true, families);
  for (const auto* family :
       {&sampling_family(), &sampling_greedy_family(), &topk_routing_family(),
        &state_scan_prefill_family(), &state_scan_decode_family(), &state_convolution_family(),
        &key_indexer_family(), &sparse_attention_family(), &hyper_connection_family(),
        &heads_product_family()}) {
    families.push_back(family);
  }
  return families;
}

/// Those without networks. They come first: what they cover is theirs alone, though a format that
/// another family has too (nvfp4 where a GPU has no path for it) may be among it.
std::vector<const EstimatorFamily*> first_order_families() {
  std::vector<const EstimatorFamily*> families = {
      &gemm_weight_only_family(),    &moe_marlin_family(),
      &moe_deep_gemm_family(),       &moe_deep_gemm_routed_family(),
      &mamba_decode_family(),        &block_index_family(),
      &block_attention_family(),     &latent_decode_family(),
      &draft_verification_family(),  &draft_verification_greedy_family(),
      &mla_prefill_expanded_family()};
  add_elementwise(false, families);
  return families;
}

}  // namespace

const std::vector<const EstimatorFamily*>& estimator_families() {
  static const std::vector<const EstimatorFamily*> families = trained_families();
  return families;
}

const EstimatorFamily* family_of(const Kernel& kernel, const GpuSpec& gpu) {
  static const std::vector<const EstimatorFamily*> first = first_order_families();
  for (const auto* list : {&first, &estimator_families()}) {
    for (const EstimatorFamily* family : *list) {
      if (family->covers(kernel, gpu)) return family;
    }
  }
  return nullptr;
}

}  // namespace foretoken
