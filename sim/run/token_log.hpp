// Notes when clients get the pieces of their answers, for the files that load tools write.
#pragma once

#include <vector>

#include "sim/report/load_tools.hpp"
#include "sim/serving/step_observer.hpp"

namespace foretoken {

class TokenLog final : public StepObserver {
 public:
  void on_step(ReplicaId, int, Seconds, Seconds, const Batch&) override {}
  void on_tokens(RequestId id, std::int64_t count, Seconds date) override;

  /// Once, after the run.
  TokenGaps take() { return std::move(gaps_); }

 private:
  /// 200 MB; beyond, nothing is kept.
  static constexpr std::size_t kept_max = 50'000'000;

  TokenGaps gaps_;
  std::vector<double> last_;  // s, by request; negative = none yet
  std::size_t kept_ = 0;
};

}  // namespace foretoken
