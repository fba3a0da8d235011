// The paths of an OpenAI-compatible server, in front of a run: completions become requests of the
// simulation, and what becomes of them the answers. /v1/models, /health, /version and /metrics say
// what vLLM's say.
#pragma once

#include <memory>
#include <unordered_map>

#include "sim/live/answer_lengths.hpp"
#include "sim/live/exchange.hpp"
#include "sim/live/live_options.hpp"
#include "sim/live/live_run.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

class Endpoint final : public HttpHandler, public ExchangeOwner {
 public:
  /// References must outlive it.
  Endpoint(const Scenario& scenario, const LiveOptions& options, LiveRun& run);

  void on_request(const HttpRequest& request, HttpReply& reply) override;
  void on_closed(HttpReply& reply) override;

 private:
  void on_over(HttpReply& reply) override { exchanges_.erase(&reply); }
  void complete(const HttpRequest& request, bool is_chat, HttpReply& reply);
  /// How many tokens are drawn, before any stop string.
  [[nodiscard]] std::int64_t answer_tokens(const CompletionRequest& asked);
  [[nodiscard]] std::string models() const;

  LiveRun& run_;
  std::string model_;
  std::int64_t context_max_;
  int block_tokens_;
  AnswerLengths lengths_;
  std::int64_t created_, answers_ = 0;
  std::unordered_map<HttpReply*, std::unique_ptr<Exchange>> exchanges_;  // never walked
};

}  // namespace foretoken
