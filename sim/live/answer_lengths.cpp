#include "sim/live/answer_lengths.hpp"

#include "sim/base/error.hpp"

namespace foretoken {

AnswerLengths::AnswerLengths(std::shared_ptr<const Workload> workload, std::uint64_t seed)
    : workload_(std::move(workload)),
      seed_(seed),
      source_(workload_->start(RandomStreams(seed_))) {}

std::int64_t AnswerLengths::next() {
  auto request = source_->next();
  if (!request) {
    source_ = workload_->start(RandomStreams(++seed_));
    request = source_->next();
  }
  FORETOKEN_CHECK(request, "the scenario's traffic holds no request");
  source_->on_given_up(request->id, request->arrival);  // closed loops and sessions go on
  return request->output_tokens;
}

}  // namespace foretoken
