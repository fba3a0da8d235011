#include "sim/scenario/recorded_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "hardware/cluster.hpp"
#include "hardware/gpu_name.hpp"
#include "models/model_name.hpp"

namespace foretoken {

std::string model_called(const std::string& hugging_face_id, const SourcePosition& asked_at) {
  if (const auto named = model_named(hugging_face_id)) return named->name;
  throw ConfigError(asked_at, unknown_model_message(hugging_face_id) + "; --model names either");
}

std::string gpu_called(const std::string& device_name, const SourcePosition& asked_at) {
  const std::vector<std::string> found = gpus_called(device_name);
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw ConfigError(asked_at, fmt::format("no built-in GPU is called \"{}\"; name the cluster "
                                            "with --cluster, or a TOML file (`foretoken gpu list` "
                                            "lists the built-in ones)",
                                            device_name));
  }
  throw ConfigError(asked_at, ambiguous_gpu_message(device_name, found) + " with --cluster");
}

std::string cluster_called(std::string system, int gpus, const SourcePosition& asked_at) {
  std::ranges::replace(system, '_', '-');
  const std::string chassis = gpu_called(system, asked_at) + "-";
  for (const std::string& name : cluster_names()) {
    if (!name.starts_with(chassis)) continue;
    int of_node = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + chassis.size(), end, of_node);
    if (parsed.ptr != end || of_node < 1) continue;
    return gpus <= of_node ? name : fmt::format("{}x{}", name, (gpus + of_node - 1) / of_node);
  }
  return fmt::format("{}{}", chassis, gpus);
}

}  // namespace foretoken
