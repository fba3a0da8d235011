// What the last layer of a network stands for. SynPerf's families learn log(time / T) itself;
// baselines answer as their papers have it, an efficiency between 0 and 1. Training
// (calibration/train) and pricing read the same definitions.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "kernels/networks/network.hpp"
#include "sim/base/enum_names.hpp"

namespace foretoken {

/// log_ratio: the answer is log(time / T). efficiency (SynPerf's paper): T / time is the sigmoid of
/// the answer, so time is never below T. wave_utilisation (NeuSight): two answers g and a;
/// T / time is sigmoid(g) - sigmoid(a) / waves, and the last feature is log2(waves).
enum class Head { log_ratio, efficiency, wave_utilisation };
template <>
struct EnumNames<Head> {
  static constexpr auto names =
      std::to_array<std::string_view>({"log_ratio", "efficiency", "wave_utilisation"});
};

/// How many numbers a member answers; an ensemble holds a network for each, one after the other.
constexpr int outputs_of(Head head) { return head == Head::wave_utilisation ? 2 : 1; }

/// A difference of sigmoids can reach zero and below, far from the data: prices take at least this.
/// Training has the logarithm go on as a straight line below it, to find a way back.
inline constexpr double utilisation_min = 1e-4;

/// log(time / T), mean over the members, at `features` as the family writes them.
double log_ratio(Head head, const Ensemble& ensemble, std::span<const float> features);

}  // namespace foretoken
