// One call on its way: the tokens of its answers as server-sent events or as one object at the end,
// and what HTTP says of a request that the engine would not serve. Each answer (`n` of the
// protocol) is a request of the simulation; if one is refused, so is the call, as vLLM does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/live/completion_request.hpp"
#include "sim/live/completion_text.hpp"
#include "sim/live/http_server.hpp"
#include "sim/live/live_run.hpp"

namespace foretoken {

/// How long an answer is and why it ends there.
struct AnswerPlan {
  std::int64_t tokens = 0;    // that are drawn
  std::size_t bytes = 0;      // of text that the client gets
  std::string finish_reason;  // "length" or "stop"
};

class Exchange;

class ExchangeOwner {
 public:
  /// The exchange that answers `reply` is over and may be destroyed; its open() requests have no
  /// client any more.
  virtual void on_over(HttpReply& reply) = 0;

 protected:
  ~ExchangeOwner() = default;
};

class Exchange final {
 public:
  /// With an answer for each of `plans`.
  Exchange(const CompletionRequest& asked, std::vector<AnswerPlan> plans,
           CompletionEnvelope envelope, HttpReply& reply, ExchangeOwner& owner);

  /// Tokens that an answer has.
  [[nodiscard]] std::int64_t tokens_planned(std::size_t choice) const {
    return choices_[choice]->planned.tokens;
  }
  /// Whom the run tells of the request behind an answer.
  LiveClient& client(std::size_t choice) { return *choices_[choice]; }
  /// Which request of the simulation it is.
  void set_id(std::size_t choice, RequestId id) { choices_[choice]->id = id; }
  /// Requests that have not ended.
  [[nodiscard]] std::vector<RequestId> open() const;

 private:
  struct Choice final : public LiveClient {
    Choice(Exchange& of, std::size_t index, AnswerPlan plan)
        : exchange(of), number(index), planned(std::move(plan)) {}
    void on_tokens(std::int64_t count) override { exchange.on_tokens(*this, count); }
    void on_end(const RequestRecord& record) override { exchange.on_end(*this, record); }
    /// The text of the tokens that have come, from where the last call ended.
    std::string news();

    Exchange& exchange;
    std::size_t number;
    AnswerPlan planned;
    RequestId id;
    std::int64_t tokens = 0;  // that have come
    std::size_t told_bytes = 0;
    bool has_ended = false;
  };

  void on_tokens(Choice& choice, std::int64_t count);
  void on_end(Choice& choice, const RequestRecord& record);
  void end_whole();
  void end_refused(const RequestRecord& record);

  bool is_chat_, streams_, wants_usage_;
  std::int64_t prompt_tokens_;
  std::vector<std::unique_ptr<Choice>> choices_;
  CompletionEnvelope envelope_;
  HttpReply& reply_;
  ExchangeOwner& owner_;
  bool has_begun_ = false;  // to stream
  std::size_t ended_ = 0;   // choices
};

}  // namespace foretoken
