#include "kernels/estimators/trained_families.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

namespace foretoken {
namespace {

void check_version(const EstimatorFamily& family, const Artifact& artifact, TrainedFor purpose,
                   const std::string& file) {
  const bool is_ceiling = purpose == TrainedFor::ceiling;
  const std::string_view option = is_ceiling ? " --quantile 0.8" : "";
  if (is_ceiling != (artifact.quantile > 0)) {
    throw ConfigError(
        {file}, fmt::format("was trained for {}, not for {}; train it again: "
                            "foretoken-calibrate train --family {}{}",
                            is_ceiling ? "the expected time" : "a ceiling",
                            is_ceiling ? "a ceiling" : "the expected time", family.name(), option));
  }
  const auto& names = family.feature_names();
  const auto& scales = artifact.ensemble.features();
  const bool same_features =
      std::ranges::equal(names, scales, {}, {}, [](const FeatureScale& s) { return s.name; });
  if (artifact.family == family.name() && artifact.version == family.version() && same_features) {
    return;
  }
  throw ConfigError(
      {file},
      fmt::format("was trained for '{}' version {}, but this program has '{}' version {}{}; train "
                  "it again: foretoken-calibrate train --family {}{}",
                  artifact.family, artifact.version, family.name(), family.version(),
                  same_features ? "" : " with other features", family.name(), option));
}

}  // namespace

std::shared_ptr<const Artifact> TrainedFamilies::load(const EstimatorFamily& family) const {
  const std::string name = std::string(family.name()) + ".json";
  std::string file, text;
  if (folder_.empty()) {
    const auto found = std::ranges::find(embedded_, family.name(), &EmbeddedFile::stem);
    if (found == embedded_.end()) return nullptr;
    file = embedded_folder_ + "/" + name;
    text = found->text;
  } else {
    const auto path = std::filesystem::path(folder_) / name;
    std::ifstream stream(path, std::ios::binary);
    if (!stream) return nullptr;
    file = path.string();
    text.assign(std::istreambuf_iterator<char>(stream), {});
  }
  auto artifact = std::make_shared<const Artifact>(read_artifact(text, file));
  check_version(family, *artifact, purpose_, file);
  return artifact;
}

std::shared_ptr<const Artifact> TrainedFamilies::load_once(const EstimatorFamily& family) const {
  const bool is_ours = embedded_.data() == embedded_artifacts().data() ||
                       embedded_.data() == embedded_ceilings().data();
  if (!folder_.empty() || !is_ours) return load(family);
  static std::mutex mutex;
  static std::map<std::pair<const EstimatorFamily*, TrainedFor>, std::shared_ptr<const Artifact>>
      read;
  const std::scoped_lock lock(mutex);
  std::shared_ptr<const Artifact>& artifact = read[{&family, purpose_}];
  if (!artifact) artifact = load(family);
  return artifact;
}

const Artifact* TrainedFamilies::find(const EstimatorFamily& family) const {
  for (const Entry& entry : entries_) {
    if (entry.family == &family) return entry.artifact.get();
  }
  entries_.push_back({&family, load_once(family)});
  return entries_.back().artifact.get();
}

namespace {

using FeatureBuffer = std::array<float, network_width_max>;

/// The features that `write` puts into a sink, in `buffer`.
template <class Write>
std::span<const float> features_of(const EstimatorFamily& family, const Artifact& artifact,
                                   FeatureBuffer& buffer, Write write) {
  const std::size_t count = artifact.ensemble.features().size();
  const std::span<float> features(buffer.data(), count);
  FeatureSink sink(features);
  write(sink);
  FORETOKEN_CHECK(sink.used() == count, "{}: {} features instead of {}", family.name(), sink.used(),
                  count);
  return features;
}

std::span<const float> features_of(const EstimatorFamily& family, const Artifact& artifact,
                                   const Kernel& kernel, const GpuSpec& gpu,
                                   FeatureBuffer& buffer) {
  return features_of(family, artifact, buffer,
                     [&](FeatureSink& sink) { family.features(kernel, gpu, sink); });
}

}  // namespace

double log_ratio(const EstimatorFamily& family, const Artifact& artifact, const Kernel& kernel,
                 const GpuSpec& gpu) {
  FeatureBuffer buffer;
  const auto features = features_of(family, artifact, kernel, gpu, buffer);
  return artifact.network_share(gpu) * log_ratio(artifact.head, artifact.ensemble, features);
}

FamilyEstimate estimate(const EstimatorFamily& family, const Artifact& artifact,
                        const Kernel& kernel, const GpuSpec& gpu,
                        const FamilyAdaptation* adaptation) {
  FamilyEstimate result;
  FeatureBuffer buffer;
  const auto features = features_of(family, artifact, buffer, [&](FeatureSink& sink) {
    result.parts = family.parts(kernel, gpu, sink);
  });
  std::array<float, networks_max * network_width_max> state_buffer;
  const auto state = std::span<float>(state_buffer)
                         .first(adaptation != nullptr ? artifact.ensemble.state_width() : 0);
  Ensemble::Answer& answer = result.answer;
  answer = artifact.ensemble.run(features, state);
  const double share = artifact.network_share(gpu);
  answer.mean *= share;
  answer.spread *= share;
  if (adaptation == nullptr) return result;
  FeatureBuffer input_buffer;
  const auto input = std::span<float>(input_buffer).first(features.size());
  artifact.ensemble.scale(features, input);
  answer.mean += adaptation->correction(state, input);
  return result;
}

std::vector<float> network_state(const EstimatorFamily& family, const Artifact& artifact,
                                 const Kernel& kernel, const GpuSpec& gpu) {
  FeatureBuffer buffer;
  const auto features = features_of(family, artifact, kernel, gpu, buffer);
  std::vector<float> state(artifact.ensemble.state_width());
  static_cast<void>(artifact.ensemble.run(features, state));
  return state;
}

bool is_mixed(const Kernel& kernel) {
  const auto* attention = std::get_if<Attention>(&kernel);
  const auto* mla = std::get_if<Mla>(&kernel);
  const AttentionLoad* load = attention != nullptr ? &attention->load
                              : mla != nullptr     ? &mla->load
                                                   : nullptr;
  return load != nullptr && load->prefill.sequences > 0 && load->decode.sequences > 0;
}

bool is_cold(const Kernel& kernel) { return cold_state(kernel).value_or(false); }

}  // namespace foretoken
