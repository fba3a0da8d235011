#include <filesystem>
#include <map>

#include "calibration/tune/device/device_client.hpp"
#include "calibration/tune/evaluator.hpp"
#include "sim/base/private_folder.hpp"

namespace foretoken::tune {
namespace {

/// The spec that a driver's name of a GPU means; a GPU without one gets its own name and the
/// nearest thing we have: its profile is then told against other peaks.
GpuSpec spec_of(const DeviceIdentity& identity) {
  for (const std::string& name : gpu_names()) {
    const std::string wanted = name.substr(0, name.find('-'));
    std::string lower = identity.gpu;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    GpuSpec gpu = load_gpu(name, {});
    if (lower.find(wanted) != std::string::npos && gpu.sm_count == identity.sms) return gpu;
  }
  GpuSpec gpu = load_gpu("h100-sxm", {});
  gpu.name = identity.gpu;
  gpu.sm_count = identity.sms;
  return gpu;
}

class CudaEvaluator final : public Evaluator {
 public:
  explicit CudaEvaluator(std::vector<std::string> command)
      : client_(std::move(command)), identity_(client_.hello()), gpu_(spec_of(identity_)) {}

  Evaluation evaluate(const Problem& problem, const Candidate& candidate) override {
    const Candidate full = complete(problem, candidate);
    const std::string cubin = folder_.path() / (identity_of(full) + ".cubin");
    Evaluation evaluation = client_.compile(full.source, identity_.architecture, cubin);
    if (evaluation.status != Status::ok) return evaluation;
    const double compile_seconds = evaluation.compile_seconds;
    evaluation = client_.evaluate(problem, reference_of(problem), full, cubin, identity_.sms);
    evaluation.compile_seconds = compile_seconds;
    std::filesystem::remove(cubin);
    return evaluation;
  }
  [[nodiscard]] const GpuSpec& gpu() const override { return gpu_; }
  [[nodiscard]] bool is_exhaustible() const override { return false; }

 private:
  std::string reference_of(const Problem& problem) {
    const auto [entry, added] = references_.try_emplace(problem.name);
    if (added) {
      entry->second = folder_.path() / (problem.name + "-reference.cubin");
      const Evaluation compiled = client_.compile(source_of(problem, start_state(problem)),
                                                  identity_.architecture, entry->second);
      if (compiled.status != Status::ok) {
        throw ConfigError({}, fmt::format("the reference of {} does not compile: {}", problem.name,
                                          compiled.detail));
      }
    }
    return entry->second;
  }

  DeviceClient client_;
  DeviceIdentity identity_;
  GpuSpec gpu_;
  PrivateFolder folder_{"foretoken-tune"};
  std::map<std::string, std::string> references_;
};

}  // namespace

std::unique_ptr<Evaluator> make_cuda(std::vector<std::string> device_command) {
  return std::make_unique<CudaEvaluator>(std::move(device_command));
}

}  // namespace foretoken::tune
