// From images and audio clips to the kernels that encode them, as vLLM launches them: patches as
// one product (audio: as convolutions, which are products too), the encoder's layers over all of a
// step at once with attention within each (ragged, not causal), and what makes tokens of patches.
// Shapes are those of one rank. Pure functions. Layer norms count as RMSNorm, GELU as SiLU of the
// same width, a conformer's convolution as a norm; positions, pixels, spectrograms and copies into
// the prompt are left out.
#pragma once

#include <span>

#include "models/media_encoder.hpp"
#include "models/parallel_layout.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// Kernels for `items`, at least one and all of the encoder's medium, in launch order; equal layers
/// are folded into calls. Weights are in 16 bit, whatever the language model's. With
/// layout.encoder_by_data those of the rank with most patches, and the gather of all ranks' tokens;
/// else each rank has a part of every layer (encoder_problem() must be ""). Collectives are of the
/// tensor-parallel group.
KernelSequence encoder_kernels(const MediaEncoder& encoder, const ParallelLayout& layout,
                               const ExecutionSettings& settings,
                               std::span<const MediaPatches> items);

/// The `items` of one medium.
std::vector<MediaPatches> of_medium(Medium medium, std::span<const MediaPatches> items);

/// Why the encoder's layers cannot be cut over the layout's tensor-parallel ranks; "" = they can.
std::string encoder_problem(const MediaEncoder& encoder, const ParallelLayout& layout);

}  // namespace foretoken
