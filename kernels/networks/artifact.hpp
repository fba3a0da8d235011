// What training leaves behind for one estimator family: networks, how their inputs were scaled,
// from which data they come and how well they did on data held out. One JSON file a family,
// calibration/artifacts/<family>.json, compiled into the program; weights are half precision in
// base64, which costs 0.05 % of a weight and a quarter of the room of decimal text.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/networks/head.hpp"
#include "kernels/networks/network.hpp"
#include "sim/base/embedded.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

struct Artifact {
  std::string family;  // EstimatorFamily::name()
  int version = 0;     // EstimatorFamily::version() it was trained for
  /// Data, rows, seed, trainer: written by the trainer, read by people.
  Value provenance;
  std::vector<std::string> gpus;  // trained on
  /// Mean absolute relative error on layouts held out: of GPUs trained on, by GPU (names) and of
  /// all; and of GPUs that were not trained on, where that was measured (0: not).
  double error_seen = 0;
  double error_unseen_gpu = 0;
  std::map<std::string, double> error_by_gpu;
  Ensemble ensemble;
  Head head = Head::log_ratio;
  /// Compute capabilities that gave a twentieth of the rows or more, from `gpus` and `provenance`.
  std::vector<int> generations = {};
  /// 0: trained for the time to expect. Else a ceiling: trained for the efficiency that this share
  /// of launches stays below, and `coverage`, the share that did on layouts held out, by GPU and
  /// ("all") of all; its errors are 0, since it is not meant to meet the measured time.
  double quantile = 0;
  std::map<std::string, double> coverage = {};

  /// What part of the networks' answer, log(time / T), a price on `gpu` takes over: all where they
  /// saw the GPU or enough of its generation, a fifth elsewhere. What a network has learned from
  /// other generations about the tiles and caches of one it never saw is more often wrong than
  /// right, while T is made from the GPU's own specification: of twelve families, with each of five
  /// GPUs left out, 0 to 0.3 of the answer was best in nine (calibration/train/EXPERIMENTS.md). All
  /// too of networks with another head, the baselines': they answer as their papers have it.
  [[nodiscard]] double network_share(const GpuSpec& gpu) const;
};

/// What Artifact::generations says of these; `gpus` that are no built-in ones count for nothing.
std::vector<int> trained_generations(const std::vector<std::string>& gpus, const Value& provenance);

/// Throws ConfigError for a file of another format or with damaged weights.
Artifact read_artifact(std::string_view text, const std::string& file);
std::string write_artifact(const Artifact& artifact);

/// The artifacts inside the program (generated, CMakeLists.txt), by family.
std::span<const EmbeddedFile> embedded_artifacts();
/// The ceilings, calibration/artifacts/ceilings/*.json, by family.
std::span<const EmbeddedFile> embedded_ceilings();
/// Constants of the baselines, calibration/artifacts/baselines/*.json.
std::span<const EmbeddedFile> embedded_baselines();

}  // namespace foretoken
