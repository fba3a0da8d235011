#include "sim/live/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

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

Exchange::Exchange(const CompletionRequest& asked, AnswerPlan plan, CompletionEnvelope envelope,
                   HttpReply& reply, ExchangeOwner& owner)
    : is_chat_(asked.is_chat),
      streams_(asked.streams),
      wants_usage_(asked.wants_usage),
      prompt_tokens_(asked.prompt_tokens),
      plan_(std::move(plan)),
      envelope_(std::move(envelope)),
      reply_(reply),
      owner_(owner) {}

std::string Exchange::text_until(std::int64_t tokens) {
  const std::int64_t first = static_cast<std::int64_t>(told_bytes_) / text_bytes_per_token;
  std::string text = answer_text(first, tokens - first);
  text.resize(std::min(text.size(), plan_.bytes - told_bytes_));
  told_bytes_ += text.size();
  return text;
}

void Exchange::on_tokens(std::int64_t count) {
  const bool is_first = tokens_ == 0;
  tokens_ += count;
  if (!streams_) return;
  std::string events;
  if (is_first) {
    reply_.begin("text/event-stream; charset=utf-8");
    if (is_chat_) events = envelope_.role_event();
  }
  const bool is_last = tokens_ >= plan_.tokens;
  events += envelope_.text_event(text_until(tokens_), is_last ? plan_.finish_reason : "");
  reply_.write(events);
}

void Exchange::on_end(const RequestRecord& record) {
  const bool is_complete = record.status == RequestStatus::completed;
  const TokenUsage usage{prompt_tokens_, tokens_};
  if (is_complete && !streams_) {
    reply_.send(200, "application/json",
                envelope_.whole(text_until(tokens_), plan_.finish_reason, usage));
  } else if (streams_ && tokens_ > 0) {
    std::string events;
    if (!is_complete) {
      const RequestRefused why = refusal(record);
      events = fmt::format("data: {}\n\n", error_object(why.status(), why.type(), why.what()));
    } else if (wants_usage_) {
      events = envelope_.usage_event(usage);
    }
    reply_.write(events + std::string(done_event));
    reply_.end();
  } else {
    const RequestRefused why = refusal(record);
    reply_.send(why.status(), "application/json",
                error_object(why.status(), why.type(), why.what()));
  }
  owner_.on_over(reply_);
}

}  // namespace foretoken
