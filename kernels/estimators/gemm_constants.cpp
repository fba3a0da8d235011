#include "kernels/estimators/gemm_constants.hpp"

namespace foretoken {

GemmConstants constants_16bit() {
  return {.tiles = TileRule::cublas,
          .k_loop_cycles = {6.6, 2.5},
          .tile_cycles = {680, 170},
          .load_share = {1.02, 6.3},
          .store_share = {2.6, 1.14},
          .tensor_efficiency = 1.0,
          .dram_efficiency = 0.86,
          .l2_efficiency = 0.74,
          .overlap = 2.2,
          .energy = {1.19, -0.48, 0.19},
          .sglang_energy = 1.175,
          .l2_share_monolithic = 0.87,
          .l2_share_split = 0.1,
          .reread_share = 0.65,
          .activation_copies = 6,
          .split_us = 2.5,
          .launch_factor = 1.06};
}

GemmConstants constants_fp8() {
  return {.tiles = TileRule::scaled_mm,
          .k_loop_cycles = {4.8, 2.5},
          .tile_cycles = {1300, 2490},
          .load_share = {1.72, 9.8},
          .store_share = {2.34, 1.73},
          .store_share_vllm = 11,
          .tensor_efficiency = 1.0,
          .dram_efficiency = 0.79,
          .l2_efficiency = 0.61,
          .overlap = 1.76,
          .energy = {1.11, -0.47, 0.33},
          .sglang_energy = 1.18,
          .l2_share_monolithic = 0.89,
          .l2_share_split = 0.53,
          .reread_share = 0.58,
          .activation_copies = 6,
          .launch_factor = 0.81,
          .quantise_us = {2.2, 1.8},
          .quantise_bytes = {4.8, 1.8},
          .quantise_row_ns = 3.1};
}

/// cuBLAS in fp8, where a framework names it or PyTorch calls it: the library's habits in 16 bit on
/// the energy of fp8. Not fitted to it; our H200 launches are 8 % off, by CUTLASS's constants 17 %.
GemmConstants constants_fp8_cublas() {
  GemmConstants constants = constants_16bit();
  const GemmConstants fp8 = constants_fp8();
  constants.energy = fp8.energy;
  constants.quantise_us = fp8.quantise_us;
  constants.quantise_bytes = fp8.quantise_bytes;
  constants.quantise_row_ns = fp8.quantise_row_ns;
  return constants;
}

GemmConstants constants_fp8_block() {
  return {.tiles = TileRule::deep_gemm,
          .k_loop_cycles = {7.3, 3.4},
          .tile_cycles = {730, 3270},
          .load_share = {1.36, 3.2},
          .store_share = {4.5, 1.4},
          .tensor_efficiency = 0.79,
          .dram_efficiency = 0.91,
          .l2_efficiency = 0.53,
          .energy = {1.88, -1.28, 0.66},
          .l2_share_monolithic = 0.96,
          .l2_share_split = 0.385,
          .l2_share_reread = 0.385,
          .reread_share = 0.28,
          .launch_factor = 1.24,
          .quantise_us = {9.0, 9.0},
          .quantise_bytes = {2.7, 2.7},
          .quantises_on_blackwell_only = true};
}

// Measured on the B200 alone: constants that it does not pin down are those of 16 bit.
GemmConstants constants_4bit() {
  return {.tiles = TileRule::cute_dsl,
          .k_loop_cycles = {8.0, 3.9},
          .tile_cycles = {860, 420},
          .load_share = {0.985, 2.85},
          .store_share = {2.3, 0.88},
          .tensor_efficiency = 0.69,
          .dram_efficiency = 1.15,
          .l2_efficiency = 0.64,
          .energy = {1.45, -0.39, 0.13},
          .l2_share_monolithic = 0.96,
          .l2_share_split = 0.376,
          .l2_share_reread = 0.376,
          .reread_share = 0.32,
          .launch_factor = 1.23,
          .quantise_us = {2.2, 4.6},
          .quantise_bytes = {5.7, 1.8},
          .quantise_row_ns = 0.27};
}

/// As 16 bit, on fewer bytes. That unpacking leaves products of many rows at 0.85 of what 16-bit
/// weights reach is a guess, not a measurement: no table has dense products of 4-bit weights. So is
/// the error: twice that of 16 bit on a GPU left out.
GemmConstants constants_weight_only() {
  GemmConstants constants = constants_16bit();
  constants.tensor_efficiency *= 0.85;
  constants.error = 0.2;
  return constants;
}

/// Of TensorRT-LLM's products, what its tables show beside others' of the same shapes: a launch
/// that quantises takes 5 to 7 us more before nvfp4, next to nothing before DeepGEMM.
GemmConstants of_trtllm(GemmConstants constants, double quantise_us) {
  constants.quantise_us = {quantise_us, quantise_us};
  constants.quantise_row_ns = 0;
  constants.quantises_on_blackwell_only = false;
  return constants;
}

}  // namespace foretoken
