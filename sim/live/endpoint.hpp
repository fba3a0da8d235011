// The paths of an OpenAI-compatible server, in front of a run: completions become requests of the
// simulation, for the model that they name, and what becomes of them the answers. /v1/models,
// /health, /version and /metrics say what vLLM's say.
#pragma once

#include <memory>
#include <unordered_map>

#include "sim/live/answer_lengths.hpp"
#include "sim/live/exchange.hpp"
#include "sim/live/live_options.hpp"
#include "sim/live/live_run.hpp"
#include "sim/live/recorded_prompts.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

class Endpoint final : public HttpHandler, public ExchangeOwner {
 public:
  /// References must outlive it.
  Endpoint(const Scenario& scenario, const LiveOptions& options, LiveRun& run,
           RecordedPrompts& prompts);

  /// Prompt tokens of a block that all models' blocks divide, for records of all.
  [[nodiscard]] int common_block_tokens() const;

  void on_request(const HttpRequest& request, HttpReply& reply) override;
  void on_closed(HttpReply& reply) override;

 private:
  /// What is left of it is cancelled.
  void on_over(HttpReply& reply) override;
  void complete(const HttpRequest& request, bool is_chat, HttpReply& reply);
  /// A model that clients may ask for.
  struct Served {
    std::string name;
    std::int64_t context_max;
    PromptCut cut;
    AnswerLengths lengths;
  };
  /// Its number. Throws RequestRefused.
  [[nodiscard]] std::size_t model_called(const std::string& name) const;
  /// How many tokens are drawn, before any stop string.
  static std::int64_t answer_tokens(const CompletionRequest& asked, Served& model);
  static AnswerPlan plan_answer(const CompletionRequest& asked, Served& model);
  /// Its answers as requests of the simulation, which share the prompt. May take `asked`'s hashes.
  void submit(CompletionRequest& asked, std::size_t model, Exchange& exchange);
  [[nodiscard]] std::string models() const;
  [[nodiscard]] std::string metrics() const;

  LiveRun& run_;
  RecordedPrompts* prompts_;    // null: nothing is recorded
  std::vector<Served> models_;  // by Request::model
  std::int64_t created_, answers_ = 0;
  std::unordered_map<HttpReply*, std::unique_ptr<Exchange>> exchanges_;  // never walked
};

}  // namespace foretoken
