// A kernel of a run or a ranking against its ceiling, for the terminal and as JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "calibration/tune/ceiling.hpp"
#include "sim/base/value.hpp"

namespace foretoken::tune {

/// Where there is a ceiling `standing` is the kernel's, else only `roof_share` counts.
struct Position {
  CeilingAnswer ceiling;
  Standing standing;
  double roof_share = 0;
  double margin = ceiling_margin;
};
Position position_of(const Problem& problem, const Candidate& candidate,
                     std::span<const double> seconds, const CeilingAnswer& ceiling,
                     const GpuSpec& gpu, double margin);

/// --ceilings and --ceiling-margin.
struct CeilingFlags {
  std::string folder;
  double margin = ceiling_margin;
  void add_to(CLI::App& command);
};

/// "at the ceiling of rms_norm (median gap -0.02)", "1.21x below the ceiling of gemm_16bit (median
/// gap 0.27)", "no ceiling: serving knows no such kernel; 83 % of the roof".
std::string position_text(const Position& position);
Value position_value(const Position& position);

}  // namespace foretoken::tune
