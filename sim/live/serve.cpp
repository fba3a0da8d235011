#include "sim/live/serve.hpp"

#include <fmt/format.h>

#include <iterator>

#include "sim/base/json.hpp"
#include "sim/live/endpoint.hpp"
#include "sim/live/live_run.hpp"
#include "sim/run/observer_group.hpp"

namespace foretoken {
namespace {

/// Keeps what workloads/measurements/served_run.hpp reads, in simulated seconds.
class ServedLines final : public StepObserver {
 public:
  /// Requests name theirs where there are several models.
  ServedLines(std::vector<std::string> models, RecordedPrompts& prompts, int block_tokens)
      : models_(std::move(models)), prompts_(prompts), block_tokens_(block_tokens) {}

  void on_step(ReplicaId, int, Seconds, Seconds, const Batch&) override {}
  void on_request_ended(const RequestRecord& record) override {
    const std::string prompt = prompts_.take(record.id, block_tokens_);
    if (record.status != RequestStatus::completed) {
      ++left_out_;
      return;
    }
    fmt::format_to(std::back_inserter(lines_),
                   R"({{"request_id":"live-{}","input_toks":{},"output_toks":{},)"
                   R"("arrival_time":{:.9f},"queued_ts":{:.9f},"scheduled_ts":{:.9f},)"
                   R"("first_token_ts":{:.9f},"last_token_ts":{:.9f}{}{}}})"
                   "\n",
                   record.id.value, record.prompt_tokens, record.output_tokens,
                   record.arrival.value(), record.arrival.value(), record.scheduled.value(),
                   record.first_token.value(), record.last_token.value(), model_of(record), prompt);
  }
  [[nodiscard]] const std::string& lines() const { return lines_; }
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

 private:
  [[nodiscard]] std::string model_of(const RequestRecord& record) const {
    if (models_.size() < 2) return "";
    return R"(,"model":)" + to_json(models_.at(static_cast<std::size_t>(record.model)));
  }

  std::vector<std::string> models_;
  RecordedPrompts& prompts_;
  int block_tokens_;
  std::string lines_;
  std::int64_t left_out_ = 0;
};

}  // namespace

ServedLive serve(const Scenario& scenario, const Catalogs& catalogs, const LiveOptions& options,
                 const std::function<void(std::uint16_t)>& on_ready) {
  std::uint16_t port = 0;
  LiveRun run(options.speed, options.models.size(), [&] { on_ready(port); });
  RecordedPrompts prompts;
  Endpoint endpoint(scenario, options, run, prompts);
  HttpServer server(options.host, options.port, HttpLimits(), endpoint);
  port = server.port();
  run.connect(server);

  ServedLines lines(options.models, prompts, endpoint.common_block_tokens());
  ObserverGroup observers;
  observers.add(run);
  if (options.records) observers.add(lines);
  ServedLive served;
  RunOptions run_options;
  run_options.observer = &observers;
  run_options.live = &run;
  run_options.progress = [&](const Progress& progress) { served.requests = progress.ended; };
  served.report = run_scenario(scenario, catalogs, run_options);
  served.lateness = run.lateness().summary();
  served.requests_jsonl = lines.lines();
  served.left_out = lines.left_out();
  return served;
}

}  // namespace foretoken
