#include "kernels/estimators/gpu_adaptations.hpp"

#include <algorithm>
#include <filesystem>

namespace foretoken {
namespace {

void check_networks(const FamilyAdaptation& family, const Artifact& artifact,
                    const std::string& path, const GpuSpec& gpu) {
  const Ensemble& ensemble = artifact.ensemble;
  if (family.version == artifact.version && family.networks == ensemble.fingerprint() &&
      family.states.width == ensemble.state_width() &&
      family.inputs.width == ensemble.features().size()) {
    return;
  }
  throw ConfigError({path},
                    fmt::format("corrects networks of '{}' other than this program's; adapt again: "
                                "foretoken-calibrate adapt --gpu {} MEASUREMENTS",
                                family.family, gpu.file.empty() ? gpu.name : gpu.file));
}

}  // namespace

GpuAdaptations::GpuAdaptations(const std::optional<std::vector<std::string>>& paths)
    : looks_beside_(!paths.has_value()) {
  if (looks_beside_) return;
  for (const std::string& path : *paths) {
    Adaptation adaptation = load_adaptation(path);
    const std::string gpu = adaptation.gpu;
    files_.push_back({path, gpu, std::move(adaptation), {}});
  }
}

GpuAdaptations::File* GpuAdaptations::file_for(const GpuSpec& gpu) const {
  const auto found = std::ranges::find(files_, gpu.name, &File::gpu);
  if (found != files_.end()) return &*found;
  const bool is_known = std::ranges::find(missing_, gpu.name) != missing_.end();
  if (!looks_beside_ || is_known) return nullptr;
  const std::string path = adaptation_path(gpu.file);
  if (gpu.file.empty() || !std::filesystem::exists(path)) {
    missing_.push_back(gpu.name);
    return nullptr;
  }
  Adaptation adaptation = load_adaptation(path);
  if (adaptation.gpu != gpu.name) {
    throw ConfigError({path}, fmt::format("corrects the prices of '{}', but is next to {}, which "
                                          "describes '{}'; adapt again, or move the file away",
                                          adaptation.gpu, gpu.file, gpu.name));
  }
  files_.push_back({path, gpu.name, std::move(adaptation), {}});
  return &files_.back();
}

const FamilyAdaptation* GpuAdaptations::find(const EstimatorFamily& family,
                                             const Artifact& artifact, const GpuSpec& gpu) const {
  File* file = file_for(gpu);
  if (file == nullptr) return nullptr;
  const FamilyAdaptation* found = file->adaptation.find(family.name());
  if (found == nullptr) return nullptr;
  if (std::ranges::find(file->checked, &artifact) == file->checked.end()) {
    check_networks(*found, artifact, file->path, gpu);
    file->checked.push_back(&artifact);
  }
  return found;
}

}  // namespace foretoken
