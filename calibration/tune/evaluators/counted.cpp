// Evaluations whose profile is of hardware counters: read from a file, or counted where the GPU is.
#include <map>

#include "calibration/tune/counters.hpp"
#include "calibration/tune/device/device_client.hpp"
#include "calibration/tune/device/kernel_counter.hpp"
#include "sim/base/private_folder.hpp"

namespace foretoken::tune {
namespace {

class CountedEvaluator : public Evaluator {
 public:
  CountedEvaluator(std::unique_ptr<Evaluator> inner, CounterLog log)
      : inner_(std::move(inner)), log_(std::move(log)) {}

  Evaluation evaluate(const Problem& problem, const Candidate& candidate) override {
    Evaluation evaluation = inner_->evaluate(problem, candidate);
    if (evaluation.status != Status::ok) return evaluation;
    if (const Profile* counted = log_.find(problem, candidate)) evaluation.counters = *counted;
    return evaluation;
  }
  [[nodiscard]] bool knows(const Problem& problem, const State& state) const override {
    return inner_->knows(problem, state) &&
           log_.find(problem, candidate_at(problem, state)) != nullptr;
  }
  [[nodiscard]] const GpuSpec& gpu() const override { return inner_->gpu(); }
  [[nodiscard]] bool is_exhaustible() const override { return inner_->is_exhaustible(); }

 protected:
  std::unique_ptr<Evaluator> inner_;
  CounterLog log_;
};

class CountingEvaluator final : public CountedEvaluator {
 public:
  CountingEvaluator(std::unique_ptr<Evaluator> inner, CounterLog log,
                    const std::vector<std::string>& command)
      : CountedEvaluator(std::move(inner), std::move(log)),
        compiler_(command),
        identity_(compiler_.hello()),
        counter_(command) {}

  Evaluation evaluate(const Problem& problem, const Candidate& candidate) override {
    Evaluation evaluation = CountedEvaluator::evaluate(problem, candidate);
    if (evaluation.status != Status::ok || evaluation.counters) return evaluation;
    const Candidate full = complete(problem, candidate);
    const std::string cubin = compiled(full.source, identity_of(full));
    evaluation.counters = counter_
                              .count(problem, counted_shape(problem, gpu()), reference_of(problem),
                                     {{full, cubin}}, identity_.sms)
                              .front();
    std::filesystem::remove(cubin);
    log_.add(problem, full, *evaluation.counters);
    return evaluation;
  }
  [[nodiscard]] bool knows(const Problem& problem, const State& state) const override {
    return inner_->knows(problem, state);
  }

 private:
  std::string compiled(const std::string& source, const std::string& name) {
    std::string cubin = folder_.path() / (name + ".cubin");
    const Evaluation result = compiler_.compile(source, identity_.architecture, cubin);
    if (result.status == Status::ok) return cubin;
    throw ConfigError({}, "an evaluated kernel no longer compiles: " + result.detail);
  }
  std::string reference_of(const Problem& problem) {
    const auto [entry, added] = references_.try_emplace(problem.name);
    if (added) {
      entry->second =
          compiled(source_of(problem, start_state(problem)), problem.name + "-reference");
    }
    return entry->second;
  }

  DeviceClient compiler_;
  DeviceIdentity identity_;
  KernelCounter counter_;
  PrivateFolder folder_{"foretoken-tune"};
  std::map<std::string, std::string> references_;
};

}  // namespace

std::unique_ptr<Evaluator> make_counted(std::unique_ptr<Evaluator> inner, const std::string& path) {
  return std::make_unique<CountedEvaluator>(std::move(inner), CounterLog(path));
}

std::unique_ptr<Evaluator> make_counting(std::unique_ptr<Evaluator> inner, const std::string& path,
                                         std::vector<std::string> device_command) {
  return std::make_unique<CountingEvaluator>(std::move(inner), CounterLog(path, true),
                                             device_command);
}

}  // namespace foretoken::tune
