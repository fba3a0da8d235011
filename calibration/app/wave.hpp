// What `fit wave` and `evaluate --wave` share: where times of configurations come from.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "calibration/fit/wave_fit.hpp"

namespace foretoken {

struct FitWave {
  std::vector<std::string> data;
  std::vector<std::string> refined;  // passes of contenders side by side
  std::string out;                   // "" = calibration/artifacts/wave/<gpu>_<dtype>.json
  WaveFitOptions options;
};
int fit_wave(const FitWave& command);

/// Constants of wave_analytic.hpp, which are printed: they are part of the program.
struct FitWaveMachine {
  std::vector<std::string> data;  // in any format
};
int fit_wave_machine(const FitWaveMachine& command);

struct EvaluateWave {
  std::vector<std::string> data;     // none = the committed fp8 grid and its contenders
  std::vector<std::string> refined;  // passes of contenders side by side
  std::string split;                 // "" = all
  bool with_comparators = false;
  WaveFitOptions options;
};
int evaluate_wave(const EvaluateWave& command);
/// The times it judges by: those of the grids, refined.
MoeGrid wave_grid(const EvaluateWave& command);

}  // namespace foretoken
