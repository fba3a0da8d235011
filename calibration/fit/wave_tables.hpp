// RaMP's tables on our measurements, as text: what `foretoken-calibrate evaluate --wave` prints.
#pragma once

#include <string>

#include "calibration/fit/judge_wave.hpp"

namespace foretoken {

/// Mean and largest regret by architecture of every method on a split, with what fitting took.
/// `with_comparators`: forest and perceptron too (seconds to a minute).
std::string regret_table(const MoeGrid& grid, WaveSplit split, const WaveFitOptions& options,
                         bool with_comparators);

/// Points at which another configuration than a fixed policy's is best, and by how much: what
/// serving frameworks fall back to, and the best at balancedness 1.
std::string opportunity_table(const MoeGrid& grid);

/// Figure 3: share of SMs busy over whole waves, by balancedness and tokens, from drawn histograms
/// of OLMoE at tiles of 16 rows and 256 columns.
std::string utilisation_table(int samples);

/// Best time without split-K over best time with it, and the same of GROUP_M, against what the
/// regions predict, by architecture.
std::string split_k_table(const MoeGrid& grid);
std::string group_m_table(const MoeGrid& grid);

/// What measuring again says of the same points: the regret in the second run of the best of the
/// first, and how far both runs' times are apart.
std::string noise_table(const MoeGrid& grid, const MoeGrid& again);

}  // namespace foretoken
