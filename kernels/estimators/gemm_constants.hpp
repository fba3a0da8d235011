// The constants of first-order times of matrix products, a set a format (gemm_model.hpp says what
// each is). Internal to the families of products.
#pragma once

#include "kernels/estimators/gemm_model.hpp"

namespace foretoken {

/// bf16 and fp16.
GemmConstants constants_16bit();
/// fp8 with a scale a tensor, by CUTLASS; int8.
GemmConstants constants_fp8();
/// The same by cuBLAS.
GemmConstants constants_fp8_cublas();
/// fp8 with a scale a block.
GemmConstants constants_fp8_block();
/// nvfp4 and mxfp4.
GemmConstants constants_4bit();
/// Weights that are narrow in memory alone.
GemmConstants constants_weight_only();

/// Of products that TensorRT-LLM launches, with `quantise_us` for the launch that quantises.
GemmConstants of_trtllm(GemmConstants constants, double quantise_us);

}  // namespace foretoken
