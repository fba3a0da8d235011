// How well tile models select, judged by exhaustive measurements: what `evaluate --tiles` prints.
#pragma once

#include <string>
#include <vector>

#include "calibration/datasets/tile_times.hpp"
#include "kernels/tiles/tile_model.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// What a model makes of one measured shape.
struct TileJudgement {
  const TiledShape* shape = nullptr;
  const TileTime* picked = nullptr;  // the measured candidate that the model's tile stands for
  double efficiency = 0;             // best measured time over the picked one's
  double tau = 0;        // Kendall's tau-b of ranks against times, ungrouped whole-depth candidates
  double predicted = 0;  // s, of the picked tile, launch included
  TileLatency latency, best_latency;  // the model's view of its pick and of the measured best
};

/// Candidates are the model's own (tile_candidates.hpp), as far as they were measured; the best is
/// that of all measured ones. Group and split that the model asks for are taken as the nearest
/// measured ones.
TileJudgement judge_tiles(const TileModel& model, const TileMachine& machine,
                          const TiledShape& shape);

/// Whether a shape belongs to the half that constants may be fitted on: by a hash of its (n, k), so
/// that a layer's shapes stay together.
bool is_fitted_shape(const TiledProduct& product);

class TileReport {
 public:
  struct Line {
    std::string model, kind, half;  // half: "fitted", "judged" or "all"
    std::size_t shapes = 0;
    double mean = 0, median = 0, p10 = 0, worst = 0;  // of selection efficiency
    double near_best = 0;                             // share of shapes at 0.95 or more
    double tau = 0;                                   // mean
    double against_cublas = 0;       // geometric mean of cuBLAS's time over the picked tile's
    double best_against_cublas = 0;  // the same of the best tile measured
    double error = 0, bias = 0;      // of predicted times: median of |error|, mean of error
  };

  /// Every model of the catalog on the file's shapes. `file` must outlive the report.
  explicit TileReport(const TileTimes& file);
  explicit TileReport(TileTimes&& file) = delete;

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  [[nodiscard]] const Line* find(std::string_view model, std::string_view kind,
                                 std::string_view half) const;
  /// The table, and the `worst` shapes of the default model with what it thought.
  [[nodiscard]] std::string text(std::size_t worst = 5) const;
  [[nodiscard]] Value json() const;

 private:
  struct Judged {
    std::string model;
    bool is_fitted = false;
    TileJudgement judgement;
  };
  void summarise();
  [[nodiscard]] std::string worst_text(std::size_t count) const;

  std::vector<Judged> all_;
  std::vector<Line> lines_;
  const TileTimes& file_;
};

}  // namespace foretoken
