#include "sim/live/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

/// As vLLM, SGLang and gateways answer: what can never be served is the client's mistake, full
/// queues are 429, nobody there to serve is 503.
RequestRefused refusal(const RequestRecord& record) {
  const auto rejected = [](const char* why) { return RequestRefused{429, "RateLimitError", why}; };
  const std::string length = fmt::format("{} prompt tokens and the answer", record.prompt_tokens);
  switch (record.reason) {
    case FailureReason::context_length:
      return bad_request(length + " are longer than the model's context");
    case FailureReason::kv_cache:
      return bad_request(length + " are more than the KV cache of a replica holds");
    case FailureReason::step_tokens:
      return bad_request("The prompt does not fit in one step of the engine");
    case FailureReason::tenant_limit:
      return rejected("The tenant's rate limit is reached; try again later");
    case FailureReason::shed:
      return rejected("The gateway's queue is full; try again later");
    case FailureReason::replica_failures:
    case FailureReason::no_replica:
    case FailureReason::none:
      break;
  }
  if (record.status == RequestStatus::rejected)
    return rejected("The queue is full; try again later");
  return {503, "ServiceUnavailableError", "No replica is available to serve the request"};
}

}  // namespace

Exchange::Exchange(const CompletionRequest& asked, std::vector<AnswerPlan> plans,
                   CompletionEnvelope envelope, HttpReply& reply, ExchangeOwner& owner)
    : is_chat_(asked.is_chat),
      streams_(asked.streams),
      wants_usage_(asked.wants_usage),
      prompt_tokens_(asked.prompt_tokens),
      envelope_(std::move(envelope)),
      reply_(reply),
      owner_(owner) {
  for (AnswerPlan& plan : plans)
    choices_.push_back(std::make_unique<Choice>(*this, choices_.size(), std::move(plan)));
}

std::vector<RequestId> Exchange::open() const {
  std::vector<RequestId> ids;
  for (const auto& choice : choices_)
    if (!choice->has_ended) ids.push_back(choice->id);
  return ids;
}

std::string Exchange::Choice::news() {
  const std::int64_t first = static_cast<std::int64_t>(told_bytes) / text_bytes_per_token;
  std::string text = answer_text(first, tokens - first);
  text.resize(std::min(text.size(), planned.bytes - told_bytes));
  told_bytes += text.size();
  return text;
}

void Exchange::on_tokens(Choice& choice, std::int64_t count) {
  choice.tokens += count;
  if (!streams_) return;
  std::string events;
  if (!std::exchange(has_begun_, true)) {
    reply_.begin("text/event-stream; charset=utf-8");
    for (std::size_t i = 0; is_chat_ && i < choices_.size(); ++i) events += envelope_.role_event(i);
  }
  const bool is_last = choice.tokens >= choice.planned.tokens;
  events += envelope_.text_event(choice.number, choice.news(),
                                 is_last ? choice.planned.finish_reason : "");
  reply_.write(events);
}

void Exchange::on_end(Choice& choice, const RequestRecord& record) {
  choice.has_ended = true;
  const bool is_complete = record.status == RequestStatus::completed;
  if (is_complete && ++ended_ < choices_.size()) return;
  is_complete ? end_whole() : end_refused(record);
  owner_.on_over(reply_);
}

void Exchange::end_whole() {
  TokenUsage usage{prompt_tokens_, 0};
  for (const auto& choice : choices_) usage.completion += choice->tokens;
  if (streams_) {
    reply_.write((wants_usage_ ? envelope_.usage_event(usage) : "") + std::string(done_event));
    return reply_.end();
  }
  std::vector<ChoiceText> told;
  for (const auto& choice : choices_)
    told.push_back({choice->news(), choice->planned.finish_reason});
  reply_.send(200, "application/json", envelope_.whole(told, usage));
}

void Exchange::end_refused(const RequestRecord& record) {
  const RequestRefused why = refusal(record);
  const std::string error = error_object(why.status(), why.type(), why.what());
  if (!has_begun_) return reply_.send(why.status(), "application/json", error);
  reply_.write(fmt::format("data: {}\n\n{}", error, done_event));
  reply_.end();
}

}  // namespace foretoken
