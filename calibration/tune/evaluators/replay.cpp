#include "calibration/tune/evaluation_log.hpp"
#include "calibration/tune/evaluator.hpp"

namespace foretoken::tune {
namespace {

class ReplayEvaluator final : public Evaluator {
 public:
  ReplayEvaluator(const std::string& path, GpuSpec gpu)
      : log_(EvaluationLog::load(path)), gpu_(std::move(gpu)) {
    if (log_.size() == 0) throw ConfigError({path, 0, 0}, "holds no evaluation");
  }
  Evaluation evaluate(const Problem& problem, const Candidate& candidate) override {
    const LogEntry* entry = nullptr;
    if (candidate.state.empty()) {
      entry = log_.find(problem.name, identity_of(complete(problem, candidate)));
    } else {
      entry = log_.find_state(problem.name, text_of(problem, candidate.state));
    }
    if (entry == nullptr) {
      Evaluation unknown;
      unknown.status = Status::malformed;
      unknown.detail = "the recording does not hold it";
      return unknown;
    }
    log_.check_shapes(problem);
    Evaluation evaluation = entry->evaluation;
    if (evaluation.status == Status::ok && evaluation.seconds.size() != problem.shapes.size()) {
      throw ConfigError(
          {}, fmt::format("the recording has {} shapes of {}, the suite {}",
                          evaluation.seconds.size(), problem.name, problem.shapes.size()));
    }
    return evaluation;
  }
  [[nodiscard]] bool knows(const Problem& problem, const State& state) const override {
    return log_.find_state(problem.name, text_of(problem, state)) != nullptr;
  }
  [[nodiscard]] const GpuSpec& gpu() const override { return gpu_; }

 private:
  EvaluationLog log_;
  GpuSpec gpu_;
};

class CachedEvaluator final : public Evaluator {
 public:
  CachedEvaluator(std::unique_ptr<Evaluator> inner, const std::string& path)
      : inner_(std::move(inner)),
        log_(EvaluationLog::load(path, true)),
        writer_(path, {{"gpu", inner_->gpu().name}}) {}

  Evaluation evaluate(const Problem& problem, const Candidate& candidate) override {
    const Candidate full = complete(problem, candidate);
    const std::string identity = identity_of(full);
    log_.check_shapes(problem);
    if (const LogEntry* entry = log_.find(problem.name, identity)) return entry->evaluation;
    LogEntry entry{problem.name, candidate.state.empty() ? "" : text_of(problem, candidate.state),
                   identity, inner_->evaluate(problem, full)};
    writer_.add(entry, problem, log_);
    // As it will read when the run goes on: the same times, whoever evaluated.
    entry = from_line(to_line(entry), {});
    Evaluation evaluation = entry.evaluation;
    log_.add(std::move(entry));
    return evaluation;
  }
  [[nodiscard]] bool knows(const Problem& problem, const State& state) const override {
    return inner_->knows(problem, state);
  }
  [[nodiscard]] const GpuSpec& gpu() const override { return inner_->gpu(); }
  [[nodiscard]] bool is_exhaustible() const override { return inner_->is_exhaustible(); }

 private:
  std::unique_ptr<Evaluator> inner_;
  EvaluationLog log_;
  EvaluationLogWriter writer_;
};

}  // namespace

std::unique_ptr<Evaluator> make_replay(const std::string& log, GpuSpec gpu) {
  return std::make_unique<ReplayEvaluator>(log, std::move(gpu));
}

std::unique_ptr<Evaluator> make_cached(std::unique_ptr<Evaluator> inner, const std::string& log) {
  return std::make_unique<CachedEvaluator>(std::move(inner), log);
}

}  // namespace foretoken::tune
