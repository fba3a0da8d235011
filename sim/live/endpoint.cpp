#include "sim/live/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "sim/base/json.hpp"
#include "workloads/requests/one_model.hpp"

namespace foretoken {
namespace {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view page_type = "text/plain; version=0.0.4; charset=utf-8";

/// What replicas of the model are: the first of its pools stands for all.
const Scenario& scenario_of(const Scenario& scenario, int model) {
  const auto pool = std::ranges::find(scenario.pools, model, &PoolSpec::model);
  return pool == scenario.pools.end() ? scenario : pool->scenario;
}

/// Prompt and answer; the least of what the model and the engine allow.
std::int64_t context_of(const Scenario& scenario) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t limit : {scenario.model.context_max, scenario.engine.context_max})
    if (limit > 0) least = std::min(least, limit);
  return least;
}

/// Images are served where the scenario's requests have some: else the engine counts as started for
/// text alone, without room for an encoder's work.
PromptCut cut_of(const std::string& name, const Scenario& scenario, const Workload& traffic) {
  PromptCut cut{.block_tokens = scenario.engine.block_tokens};
  if (!scenario.model.takes(Medium::image)) {
    cut.no_images = fmt::format("{} is not a multimodal model", name);
  } else if (!traffic.has(Medium::image)) {
    cut.no_images =
        "At most 0 image(s) may be provided in one prompt: this engine was started for text alone; "
        "add "
        "[workload.images] to the scenario";
  } else {
    cut.encoder = scenario.model.vision;
  }
  return cut;
}

void refuse(HttpReply& reply, const RequestRefused& why) {
  reply.send(why.status(), json_type, error_object(why.status(), why.type(), why.what()));
}

}  // namespace

Endpoint::Endpoint(const Scenario& scenario, const LiveOptions& options, LiveRun& run,
                   RecordedPrompts& prompts)
    : run_(run), prompts_(options.records ? &prompts : nullptr), created_(HttpServer::unix_time()) {
  for (const std::string& name : options.models) {
    const int number = static_cast<int>(models_.size());
    const Scenario& its = scenario_of(scenario, number);
    const auto traffic =
        options.models.size() > 1 ? requests_for(scenario.workload, number) : scenario.workload;
    models_.push_back({name, context_of(its), cut_of(name, its, *traffic),
                       AnswerLengths(traffic, scenario.run.seed)});
  }
}

int Endpoint::common_block_tokens() const {
  return std::accumulate(models_.begin(), models_.end(), 1, [](int all, const Served& one) {
    return std::lcm(all, one.cut.block_tokens);
  });
}

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
    if (path == "/metrics") return answer(page_type, metrics());
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
  ValueArray list;
  for (const Served& served : models_) {
    Value model;
    model.set("id", served.name);
    model.set("object", "model");
    model.set("created", created_);
    model.set("owned_by", "foretoken");
    if (served.context_max < std::numeric_limits<std::int64_t>::max())
      model.set("max_model_len", served.context_max);
    list.push_back(std::move(model));
  }
  return to_json(ValueObject{{"object", "list"}, {"data", std::move(list)}}, -1);
}

std::string Endpoint::metrics() const {
  const std::vector<ReplicaGauges> gauges = run_.gauges();
  std::vector<ServedMetrics> told;
  for (std::size_t model = 0; model < models_.size(); ++model) {
    ServedMetrics& one = told.emplace_back();
    one.model = models_[model].name;
    one.metrics = &run_.metrics()[model];
    std::ranges::copy_if(
        gauges, std::back_inserter(one.replicas),
        [&](const ReplicaGauges& replica) { return replica.model == static_cast<int>(model); });
  }
  return metrics_page(told);
}

std::size_t Endpoint::model_called(const std::string& name) const {
  if (name.empty() && models_.size() == 1) return 0;
  const auto found = std::ranges::find(models_, name, &Served::name);
  if (found != models_.end()) return static_cast<std::size_t>(found - models_.begin());
  std::string known;
  for (const Served& one : models_)
    known += fmt::format("{}`{}`", known.empty() ? "" : ", ", one.name);
  if (name.empty()) throw bad_request("model: is missing; name one of " + known);
  throw RequestRefused(404, "NotFoundError",
                       fmt::format("The model `{}` does not exist; this server's {} {}", name,
                                   models_.size() > 1 ? "are" : "is", known));
}

std::int64_t Endpoint::answer_tokens(const CompletionRequest& asked, Served& model) {
  const std::int64_t room = model.context_max - asked.prompt_tokens;
  if (room < 1 || asked.tokens_max.value_or(1) > room) {
    throw bad_request(fmt::format(
        "This model's maximum context length is {} tokens. However, you requested {} tokens "
        "({} in the prompt, {} in the completion). Ask for fewer",
        model.context_max, asked.prompt_tokens + asked.tokens_max.value_or(1), asked.prompt_tokens,
        asked.tokens_max.value_or(1)));
  }
  const std::int64_t most = asked.tokens_max.value_or(room);
  // Drawn in any case, so that what one client asks for changes no other's answer.
  const std::int64_t drawn = std::max(model.lengths.next(), asked.tokens_min);
  return asked.ignores_eos && asked.tokens_max ? most : std::min(drawn, most);
}

AnswerPlan Endpoint::plan_answer(const CompletionRequest& asked, Served& model) {
  const std::int64_t tokens = answer_tokens(asked, model);
  if (const auto stop = find_stop(asked.stop, tokens, asked.tokens_min))
    return {stop->tokens, stop->bytes, "stop"};
  const auto bytes = static_cast<std::size_t>(tokens * text_bytes_per_token);
  return {tokens, bytes, tokens == asked.tokens_max ? "length" : "stop"};
}

void Endpoint::complete(const HttpRequest& http, bool is_chat, HttpReply& reply) {
  const auto cut_of = [this](const std::string& name) { return models_[model_called(name)].cut; };
  CompletionRequest asked = read_completion(http.body, is_chat, cut_of);
  const std::size_t number = model_called(asked.model);
  Served& model = models_[number];
  std::vector<AnswerPlan> plans;
  while (plans.size() < asked.choices) plans.push_back(plan_answer(asked, model));
  const std::string name = fmt::format("{}-{}", is_chat ? "chatcmpl" : "cmpl", answers_++);
  auto exchange = std::make_unique<Exchange>(
      asked, std::move(plans),
      CompletionEnvelope(is_chat, name, model.name, HttpServer::unix_time()), reply, *this);
  Exchange& known = *exchange;
  exchanges_.emplace(&reply, std::move(exchange));
  submit(asked, number, known);
}

void Endpoint::submit(CompletionRequest& asked, std::size_t model, Exchange& exchange) {
  Request request;
  request.arrival = run_.now();
  request.prompt_tokens = asked.prompt_tokens;
  request.prefix_hashes =
      prompts_ == nullptr ? std::move(asked.prefix_hashes) : asked.prefix_hashes;
  request.prefix_block_tokens = models_[model].cut.block_tokens;
  request.media = asked.images;
  request.model = static_cast<int>(model);
  request.priority = asked.priority;
  for (std::size_t choice = 0; choice < asked.choices; ++choice) {
    request.output_tokens = exchange.tokens_planned(choice);
    const bool is_last = choice + 1 == asked.choices;
    const RequestId id =
        run_.submit(is_last ? std::move(request) : Request(request), exchange.client(choice));
    exchange.set_id(choice, id);
    request.beside = id;
    if (prompts_ != nullptr) prompts_->note(id, asked, models_[model].cut.block_tokens);
  }
}

void Endpoint::on_over(HttpReply& reply) { on_closed(reply); }

void Endpoint::on_closed(HttpReply& reply) {
  const auto found = exchanges_.find(&reply);
  if (found == exchanges_.end()) return;
  const std::vector<RequestId> left = found->second->open();
  exchanges_.erase(found);
  for (const RequestId id : left) run_.cancel(id);
}

}  // namespace foretoken
