#include "sim/live/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/base/json.hpp"

namespace foretoken {
namespace {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view page_type = "text/plain; version=0.0.4; charset=utf-8";

/// Prompt and answer; the least of what the model and the engine allow.
std::int64_t context_of(const Scenario& scenario) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t limit : {scenario.model.context_max, scenario.engine.context_max})
    if (limit > 0) least = std::min(least, limit);
  return least;
}

void refuse(HttpReply& reply, const RequestRefused& why) {
  reply.send(why.status(), json_type, error_object(why.status(), why.type(), why.what()));
}

}  // namespace

Endpoint::Endpoint(const Scenario& scenario, const LiveOptions& options, LiveRun& run)
    : run_(run),
      model_(options.model),
      context_max_(context_of(scenario)),
      block_tokens_(scenario.engine.block_tokens),
      lengths_(scenario.workload, scenario.run.seed),
      created_(HttpServer::unix_time()) {}

void Endpoint::on_request(const HttpRequest& request, HttpReply& reply) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  const bool is_get = request.method == "GET" || request.method == "HEAD";
  const bool is_chat = path == "/v1/chat/completions";
  try {
    if (is_chat || path == "/v1/completions") {
      if (request.method != "POST") throw RequestRefused(405, "MethodNotAllowed", "Use POST");
      return complete(request, is_chat, reply);
    }
    const auto answer = [&](std::string_view type, const std::string& body) {
      if (!is_get) throw RequestRefused(405, "MethodNotAllowed", "Use GET");
      reply.send(200, type, body);
    };
    if (path == "/health" || path == "/ping") return answer("text/plain", "");
    if (path == "/v1/models") return answer(json_type, models());
    if (path == "/metrics") return answer(page_type, run_.metrics().page(model_, run_.gauges()));
    if (path == "/version")
      return answer(json_type, fmt::format(R"({{"version":"foretoken {}"}})", version()));
    throw RequestRefused(404, "NotFoundError",
                         "No such path; there are /v1/chat/completions, /v1/completions, "
                         "/v1/models, /health, /version and /metrics");
  } catch (const RequestRefused& why) {
    refuse(reply, why);
  }
}

std::string Endpoint::models() const {
  Value model;
  model.set("id", model_);
  model.set("object", "model");
  model.set("created", created_);
  model.set("owned_by", "foretoken");
  if (context_max_ < std::numeric_limits<std::int64_t>::max())
    model.set("max_model_len", context_max_);
  return to_json(ValueObject{{"object", "list"}, {"data", ValueArray{model}}}, -1);
}

std::int64_t Endpoint::answer_tokens(const CompletionRequest& asked) {
  const std::int64_t room = context_max_ - asked.prompt_tokens;
  if (room < 1 || asked.tokens_max.value_or(1) > room) {
    throw bad_request(fmt::format(
        "This model's maximum context length is {} tokens. However, you requested {} tokens "
        "({} in the prompt, {} in the completion). Ask for fewer",
        context_max_, asked.prompt_tokens + asked.tokens_max.value_or(1), asked.prompt_tokens,
        asked.tokens_max.value_or(1)));
  }
  const std::int64_t most = asked.tokens_max.value_or(room);
  // Drawn in any case, so that what one client asks for changes no other's answer.
  const std::int64_t drawn = std::max(lengths_.next(), asked.tokens_min);
  return asked.ignores_eos && asked.tokens_max ? most : std::min(drawn, most);
}

void Endpoint::complete(const HttpRequest& http, bool is_chat, HttpReply& reply) {
  CompletionRequest asked = read_completion(http.body, is_chat, block_tokens_);
  if (!asked.model.empty() && asked.model != model_) {
    throw RequestRefused(
        404, "NotFoundError",
        fmt::format("The model `{}` does not exist; this server's is `{}`", asked.model, model_));
  }
  const std::int64_t tokens = answer_tokens(asked);
  const auto bytes = static_cast<std::size_t>(tokens * text_bytes_per_token);
  AnswerPlan plan{tokens, bytes, tokens == asked.tokens_max ? "length" : "stop"};
  if (const auto stop = find_stop(asked.stop, tokens)) {
    plan = {stop->tokens, stop->bytes, "stop"};
  }
  Request request;
  request.prompt_tokens = asked.prompt_tokens;
  request.output_tokens = plan.tokens;
  request.prefix_hashes = std::move(asked.prefix_hashes);
  request.prefix_block_tokens = block_tokens_;
  request.priority = asked.priority;
  const std::string name = fmt::format("{}-{}", is_chat ? "chatcmpl" : "cmpl", answers_++);
  auto exchange = std::make_unique<Exchange>(
      asked, std::move(plan), CompletionEnvelope(is_chat, name, model_, HttpServer::unix_time()),
      reply, *this);
  Exchange& known = *exchange;
  exchanges_.emplace(&reply, std::move(exchange));
  known.set_id(run_.submit(std::move(request), known));
}

void Endpoint::on_closed(HttpReply& reply) {
  const auto found = exchanges_.find(&reply);
  if (found == exchanges_.end()) return;
  run_.cancel(found->second->id());
  exchanges_.erase(found);
}

}  // namespace foretoken
