// How long answers are whose clients leave it to the model: as the scenario's traffic has them.
// They are drawn in the order in which requests come, so that the same requests get the same
// answers.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/requests/workload.hpp"

namespace foretoken {

class AnswerLengths {
 public:
  AnswerLengths(std::shared_ptr<const Workload> workload, std::uint64_t seed);
  /// Tokens of the next answer; finite traffic begins again.
  std::int64_t next();

 private:
  std::shared_ptr<const Workload> workload_;
  std::uint64_t seed_;
  std::unique_ptr<RequestSource> source_;
};

}  // namespace foretoken
