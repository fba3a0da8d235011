// How well the all-reduces of serving engines are priced: each version's own kernels by constants
// that were fitted without the sizes judged, and everything that an engine all-reduces, what it
// hands to NCCL too, as the program prices it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>

#include "calibration/evaluate/engine_rows.hpp"
#include "calibration/evaluate/score.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

class EngineReport {
 public:
  /// Engine and version, number of ranks (0 = all), band of sizes, in the order of printing.
  using Line = std::tuple<std::string, int, int>;
  struct Boards {
    ScoreBoard own;      // sizes left out of the fit, where the engine has a kernel of its own
    ScoreBoard shipped;  // all sizes
  };

  void add_own(const EngineRow& row, Seconds predicted);
  void add_shipped(const EngineRow& row, Seconds predicted);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] Value json() const;
  [[nodiscard]] const std::map<Line, Boards>& lines() const { return lines_; }

  static constexpr std::array<std::string_view, 3> bands = {"< 1 MiB", ">= 1 MiB", "8 to 64 MiB"};

 private:
  template <class Add>
  void add(const EngineRow& row, Add add);

  std::map<Line, Boards> lines_;
};

EngineReport judge_engines(std::span<const EngineRow> rows);

}  // namespace foretoken
