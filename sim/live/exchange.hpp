// One completion on its way: its tokens as server-sent events or as one object at the end, and what
// HTTP says of a request that the engine would not serve.
#pragma once

#include <string>

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

class ExchangeOwner {
 public:
  /// The exchange that answers `reply` is over and may be destroyed.
  virtual void on_over(HttpReply& reply) = 0;

 protected:
  ~ExchangeOwner() = default;
};

class Exchange final : public LiveClient {
 public:
  Exchange(const CompletionRequest& asked, AnswerPlan plan, CompletionEnvelope envelope,
           HttpReply& reply, ExchangeOwner& owner);

  /// Which request of the simulation it is.
  void set_id(RequestId id) { id_ = id; }
  [[nodiscard]] RequestId id() const { return id_; }

  void on_tokens(std::int64_t count) override;
  void on_end(const RequestRecord& record) override;

 private:
  /// The text of the tokens up to `tokens`, from where the last call ended.
  std::string text_until(std::int64_t tokens);

  bool is_chat_, streams_, wants_usage_;
  std::int64_t prompt_tokens_;
  AnswerPlan plan_;
  CompletionEnvelope envelope_;
  HttpReply& reply_;
  ExchangeOwner& owner_;
  RequestId id_;
  std::int64_t tokens_ = 0;  // that have come
  std::size_t told_bytes_ = 0;
};

}  // namespace foretoken
