// Constants of the codes that compute latent attention, for mla_model.cpp.
#pragma once

namespace foretoken {

/// Fitted to AIConfigurator's generation_mla tables (vLLM: A100, H100, H200, L40S; SGLang: H100,
/// H200, L40S, B200; TensorRT-LLM: A100, H100, H200, L40S), one row a code over all its GPUs; us at
/// 2 GHz.
struct MlaDecodeConstants {
  double fixed;               // of the call, as the tables time it
  double small_cache;         // more for an fp8 cache
  double dram_share;          // of the bandwidth that streams reach
  double tensor_share;        // of the peak
  double tile_rows;           // query heads (times tokens) of a CTA
  double granule;             // rows that products are padded to
  double cta;                 // one more CTA on an SM
  double row_passes;          // over queries and results
  double power;               // of the norm by which bytes, products and walk overlap
  double conversion;          // bytes moved an element of an fp8 cache; 0: the kernel reads it
  bool multiplies_fp8;        // what an fp8 cache holds, as it is
  double merge;               // joining the parts of sequences that are cut to fill the GPU
  double merge_keys;          // from which on they are cut
  double splits;              // Triton: always so many; 0: no walk
  double key;                 // Triton: a key of a tile
  double walk_share;          // Triton: of that, where many tiles take turns on an SM
  double served_granule = 0;  // as granule, of an fp8 cache that is served; 0: the same
};

/// Likewise to the context_mla tables.
struct MlaPromptConstants {
  double tensor_share;
  double fp8_speedup;      // of products where the cache is fp8
  double tile_rows;        // of a tile, in heads times tokens where absorbed
  double tail;             // the longest tile against its SM's share of the rate
  double power;            // of the norm by which it overlaps with the rest
  double row_bytes;        // moved a token and head
  double row_bytes_small;  // the same with an fp8 cache
};

struct MlaCode {
  MlaDecodeConstants decode;
  double prompt_fixed, prompt_small_cache;  // us
  double short_queries;  // prompts up to here are absorbed, and with an fp8 cache
  double short_queries_small;
  MlaPromptConstants absorbed, expanded;
};

namespace mla_codes {

inline constexpr double always_absorbed = 1e9;  // queries

// Of vLLM, whose tables time calls outside a graph: `fixed` is the host's. FlashMLA has tiles of 64
// heads: with up to as many whole blocks of attention take half of what they do with 128
// (mla_generation_module_perf), where the table of the kernel has the time of 128 heads for one.
inline constexpr MlaCode flash_mla{
    {164, 46, 0.95, 0.72, 128, 128, 0, 4.5, 4.4, 0, false, 4.0, 200, 0, 0, 0, 64},
    165,
    29,
    512,
    64,
    {0.63, 1, 64, 1.37, 1.0, 7.5e3, 21e3},
    {0.95, 1, 128, 1.37, 1.0, 5.4e3, 5.4e3}};
inline constexpr MlaCode triton_vllm{
    {337, 0, 0.89, 0.15, 16, 16, 13.8, 14.5, 2.6, 0, false, 0, 1, 4, 0.081, 0.92},
    294,
    0,
    0,
    0,
    {},
    {0.54, 1, 128, 0.49, 1.0, 5.7e3, 5.7e3}};
// Of SGLang, inside graphs. On Hopper the table's prompts are absorbed, whatever their length, and
// its FlashAttention-3 converts an fp8 cache first. `expanded`, as served: fitted to the 233 rows
// of wideep_context_mla of an H100 that take 2.5 ms and more with prompts of 64 tokens and more,
// less their products (4.2 % of whole rows; the H200's: 4.3).
inline constexpr MlaCode flash_attention_3{
    {12.1, 5.2, 0.93, 0.61, 64, 64, 5.9, 0.87, 4.3, 10.8, false, 4.8, 100, 0, 0, 0},
    11.0,
    6.4,
    always_absorbed,
    always_absorbed,
    {0.66, 1, 64, 0.52, 1.33, 3.4e3, 3.4e3},
    {0.75, 1, 128, 0.526, 1.0, 1.33e3, 1.33e3}};
inline constexpr MlaCode triton_sglang{
    {13.8, 0, 0.89, 0.15, 16, 16, 28.4, 14.0, 2.3, 0, false, 0, 1, 8, 0.019, 1.54},
    3.1,
    0,
    always_absorbed,
    always_absorbed,
    {0.21, 1, 16, 1.18, 1.27, 0.62e3, 0.62e3},
    {}};
inline constexpr MlaCode trtllm{
    {10.4, 0, 0.76, 0.82, 128, 16, 3.6, 2.36, 1.6, 0, true, 3.4, 380, 0, 0, 0},
    12.0,
    7.5,
    0,
    0,
    {},
    {0.72, 1.22, 128, 1.37, 1.18, 1.9e3, 3.1e3}};

// TensorRT-LLM's own, inside graphs. Before Hopper a CTA walks all keys of a sequence.
inline constexpr MlaCode trtllm_hopper{
    {14.1, 0, 0.937, 0.933, 16, 16, 3.84, 0.258, 1.55, 0, false, 0, 1, 0, 0, 0},
    15.6,
    3.6,
    0,
    0,
    {},
    {0.707, 1.11, 128, 0.526, 0.904, 1.6e3, 3.0e3}};
inline constexpr MlaCode trtllm_before_hopper{
    {10.3, 0, 0.9, 0.275, 64, 64, 10.7, 0.26, 1.8, 0, false, 0, 1, 1, 0.083, 0.05},
    11.8,
    0,
    0,
    0,
    {},
    {0.523, 1, 128, 0.149, 0.896, 0.96e3, 1.07e3}};

}  // namespace mla_codes

}  // namespace foretoken
