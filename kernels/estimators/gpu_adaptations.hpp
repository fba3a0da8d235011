// Which adaptation corrects the prices of which GPU: files that the user named, or the one that
// `foretoken-calibrate adapt` left beside a GPU's TOML file.
// Not for use from several threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/estimators/estimator.hpp"
#include "kernels/networks/adaptation.hpp"
#include "kernels/networks/artifact.hpp"

namespace foretoken {

class GpuAdaptations {
 public:
  /// With `paths` those files and no others, read now (ConfigError for a faulty one); without,
  /// adaptation_path() of each GPU that was read from a file, once it is asked for.
  explicit GpuAdaptations(const std::optional<std::vector<std::string>>& paths);

  /// nullptr: none for this GPU and family. Throws ConfigError for a faulty file, for one beside a
  /// GPU that it does not name, and for one that was fitted to other networks than `artifact`'s.
  [[nodiscard]] const FamilyAdaptation* find(const EstimatorFamily& family,
                                             const Artifact& artifact, const GpuSpec& gpu) const;

 private:
  struct File {
    std::string path;
    std::string gpu;  // name of the GPU that it is used for
    Adaptation adaptation;
    std::vector<const Artifact*> checked;  // networks that it was found to belong to
  };

  File* file_for(const GpuSpec& gpu) const;

  bool looks_beside_;
  mutable std::vector<File> files_;           // a memo where it looks beside
  mutable std::vector<std::string> missing_;  // GPU files without an adaptation
};

}  // namespace foretoken
