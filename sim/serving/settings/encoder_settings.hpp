// How an engine encodes images, as keys of [engine.encoder]: over which GPUs, how much in a step,
// how much it keeps. Which requests have images is the workload's (workloads/requests/media.hpp).
#pragma once

#include "sim/base/keys.hpp"

namespace foretoken {

/// weights: each tensor-parallel rank has a part of every layer. data: each has the whole encoder
/// and encodes some of the images.
enum class EncoderParallel { weights, data };
template <>
struct EnumNames<EncoderParallel> {
  static constexpr auto names = std::to_array<std::string_view>({"weights", "data"});
};

/// As given; where an engine is at work, with its limits filled in, and both 0 if no request has
/// images.
struct EncoderSettings {
  EncoderParallel parallel = EncoderParallel::weights;
  std::int64_t step_tokens = 0;   // of images that a step encodes; 0 = batch_tokens_max
  std::int64_t cache_tokens = 0;  // that the cache has room for; 0 = as the engine has it
  SourcePosition position = {};   // of the table
};

const Keys<EncoderSettings>& encoder_keys();

}  // namespace foretoken
