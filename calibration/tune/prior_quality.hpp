// Whether a profile tells which strategies will help: the heads of Equation 7 learned on all other
// kernels of a recording, judged on one they never saw. Beside profiles by costs and by hardware
// counters stands none at all, which leaves each strategy's own share of successes.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/tune/compatibility.hpp"
#include "calibration/tune/counters.hpp"

namespace foretoken::tune {

enum class ProfileKind { none, costs, counters };
inline constexpr std::array<std::string_view, 3> profile_kind_names = {"none", "costs", "counters"};

/// Attempts at one kernel, every profile scaled within the kernel's own.
struct KernelAttempts {
  std::string kernel;
  std::array<std::vector<PriorSample>, 3> samples;  // by ProfileKind; the same attempts
};

/// Every move, of every strategy, from each point of the space that was counted and ran.
KernelAttempts attempts_at(const Problem& problem, Evaluator& recorded, const CounterLog& counted);

/// How probable it is that a success is ranked above a failure: 0.5 is chance. The mean over pairs,
/// equals counting half; 0.5 where there are only successes or only failures.
double area_under_curve(const std::vector<double>& scores, const std::vector<bool>& is_success);

struct PriorQuality {
  std::string kernel;
  int attempts = 0;
  double successes = 0;            // share
  std::array<double, 3> all{};     // area over all attempts, by ProfileKind
  std::array<double, 3> within{};  // mean of the strategies' own areas, weighted by attempts
};
/// Each kernel by heads that learned from the others.
std::vector<PriorQuality> prior_quality(const std::vector<KernelAttempts>& kernels, int epochs);

}  // namespace foretoken::tune
