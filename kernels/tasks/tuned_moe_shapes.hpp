// Which 16-bit expert shapes the frameworks tile by measured configuration files. vLLM and SGLang
// ship such files for Triton's fused experts, by device, experts on the rank and width on the rank;
// every other shape runs with a default tile that can take twice as long.
#pragma once

#include <string_view>

#include "kernels/implementation.hpp"

namespace foretoken {

/// Whether `framework` ships a configuration for `experts` experts of `width` (both of one rank) on
/// `gpu`. False for GPUs that are not listed.
bool is_tuned_moe_shape(Framework framework, std::string_view gpu, int experts, int width);

}  // namespace foretoken
