#include "workloads/requests/request_draws.hpp"

namespace foretoken {

RequestDraws::RequestDraws(const Traffic& traffic, const RandomStreams& random)
    : prompt_tokens_(traffic.prompt_tokens),
      output_tokens_(traffic.output_tokens),
      trace_(traffic.trace),
      prefix_block_tokens_(traffic.prefix_block_tokens),
      classes_(traffic.classes),
      prompt_random_(random.stream("prompt_tokens")),
      output_random_(random.stream("output_tokens")),
      class_random_(random.stream("priorities")),
      patience_(traffic.patience, random) {}

void RequestDraws::begin_trajectory() {
  if (!classes_.are_priorities()) kept_ = classes_.sample(class_random_);
}

Request RequestDraws::next(std::size_t row) {
  const RequestClass& its = kept_ ? *kept_ : classes_.sample(class_random_);
  const LengthDistribution& prompt = its.prompt_tokens ? *its.prompt_tokens : *prompt_tokens_;
  const LengthDistribution& output = its.output_tokens ? *its.output_tokens : *output_tokens_;
  Request request;
  request.prompt_tokens = prompt.sample(prompt_random_, row);
  request.output_tokens = output.sample(output_random_, row);
  request.priority = its.priority;
  request.tenant = its.tenant_number;
  request.tenant_weight = its.weight;
  request.model = its.model_number;
  patience_.give(request);
  if (prompt.uses_trace()) {
    const auto hashes = trace_->prefix_hashes(row % trace_->size());
    request.prefix_hashes.assign(hashes.begin(), hashes.end());
    request.prefix_block_tokens = prefix_block_tokens_;
  }
  return request;
}

}  // namespace foretoken
