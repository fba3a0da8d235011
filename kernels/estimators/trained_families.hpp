// The artifacts that belong to the estimator families: from inside the program, or from a folder of
// the user's. Each is read when its family is first asked for, since a run needs few of them, and
// those inside the program once a process: a search makes a predictor a choice, and its runs
// inherit what was read before they were forked. One object is not for use from several threads at
// once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/estimators/estimator.hpp"
#include "kernels/networks/adaptation.hpp"
#include "kernels/networks/artifact.hpp"

namespace foretoken {

/// time: what to expect (calibration/artifacts). ceiling: what the best launches reach (ceilings/
/// in the same folder).
enum class TrainedFor { time, ceiling };

class TrainedFamilies {
 public:
  /// `folder` "": the artifacts inside the program.
  explicit TrainedFamilies(std::string folder = "", TrainedFor purpose = TrainedFor::time)
      : TrainedFamilies(std::move(folder),
                        purpose == TrainedFor::ceiling ? embedded_ceilings() : embedded_artifacts(),
                        purpose == TrainedFor::ceiling ? "calibration/artifacts/ceilings"
                                                       : "calibration/artifacts",
                        purpose) {}
  /// `folder` "": those of `embedded`, whose place in the source tree (for messages) is
  /// `embedded_folder`.
  TrainedFamilies(std::string folder, std::span<const EmbeddedFile> embedded,
                  std::string embedded_folder, TrainedFor purpose = TrainedFor::time)
      : folder_(std::move(folder)),
        embedded_(embedded),
        embedded_folder_(std::move(embedded_folder)),
        purpose_(purpose) {}

  /// The artifact of `family`, or nullptr if there is none. Throws ConfigError for one of another
  /// version than the family, whose features would be misread, or of the other purpose.
  const Artifact* find(const EstimatorFamily& family) const;

 private:
  struct Entry {
    const EstimatorFamily* family;
    std::shared_ptr<const Artifact> artifact;  // null: there is none
  };

  [[nodiscard]] std::shared_ptr<const Artifact> load(const EstimatorFamily& family) const;
  [[nodiscard]] std::shared_ptr<const Artifact> load_once(const EstimatorFamily& family) const;

  std::string folder_;
  std::span<const EmbeddedFile> embedded_;
  std::string embedded_folder_;
  TrainedFor purpose_;
  mutable std::vector<Entry> entries_;  // a memo: answers are the same without it
};

/// log(time / T) as the artifact's networks have it, whatever their head, and on GPUs unlike those
/// they saw its share (Artifact::network_share).
double log_ratio(const EstimatorFamily& family, const Artifact& artifact, const Kernel& kernel,
                 const GpuSpec& gpu);

struct FamilyEstimate {
  EstimatorFamily::Parts parts;
  /// The network's view: log(time / T), how sure it is, and how far from the data.
  Ensemble::Answer answer;
};

/// T and the network's answer; on GPUs unlike those it saw only its share
/// (Artifact::network_share). With an adaptation the correction of just that comes on top.
FamilyEstimate estimate(const EstimatorFamily& family, const Artifact& artifact,
                        const Kernel& kernel, const GpuSpec& gpu,
                        const FamilyAdaptation* adaptation = nullptr);

/// Ensemble::run's state for a kernel: where it stands among others, as the networks see it.
std::vector<float> network_state(const EstimatorFamily& family, const Artifact& artifact,
                                 const Kernel& kernel, const GpuSpec& gpu);
/// Attention with prefill and decode sequences, which no family covers whole.
bool is_mixed(const Kernel& kernel);

/// Whether the kernel asks for inputs from DRAM. Kernels that cannot say are measured cold, so that
/// nothing is to be added for it.
bool is_cold(const Kernel& kernel);

}  // namespace foretoken
