#include "sim/run/validation.hpp"

#include <algorithm>

#include "sim/report/figures.hpp"
#include "sim/report/latency_statistics.hpp"
#include "sim/run/latency_row.hpp"

namespace foretoken {
namespace {

ValidatedLatency latency(std::string name, std::vector<double> measured,
                         std::vector<double> simulated) {
  std::ranges::sort(measured);
  std::ranges::sort(simulated);
  return {.name = std::move(name),
          .measured = latency_row(measured),
          .simulated = latency_row(simulated),
          .measured_samples = std::move(measured),
          .simulated_samples = std::move(simulated)};
}

/// Of the requests for `model`; "": of all.
std::vector<ValidatedLatency> latencies_of(const ServedRun& measured, const Report& simulated,
                                           const std::string& model) {
  std::vector<double> ttft, tpot, end_to_end;
  for (const ServedRequest& request : measured.requests) {
    if (!model.empty() && request.model != model) continue;
    ttft.push_back(request.ttft().value() * 1e3);
    if (request.output_tokens > 1) tpot.push_back(request.tpot().value() * 1e3);
    end_to_end.push_back(request.end_to_end().value() * 1e3);
  }
  std::vector<double> own_ttft, own_tpot, own_end_to_end;
  for (const RequestRow& row : simulated.rows) {
    if (!model.empty() && row.model != model) continue;
    if (row.ttft_ms) own_ttft.push_back(*row.ttft_ms);
    if (row.tpot_ms && row.output_tokens > 1) own_tpot.push_back(*row.tpot_ms);
    if (row.e2e_ms) own_end_to_end.push_back(*row.e2e_ms);
  }
  const std::string of = model.empty() ? "" : " " + model;
  return {latency("TTFT" + of, std::move(ttft), std::move(own_ttft)),
          latency("TPOT" + of, std::move(tpot), std::move(own_tpot)),
          latency("E2E" + of, std::move(end_to_end), std::move(own_end_to_end))};
}

double rate_of(double amount, double time) { return time > 0.0 ? amount / time : 0.0; }

void add_intervals(const Report& simulated, ValidationReport& report) {
  if (!simulated.intervals) return;
  constexpr const char* tables[] = {"ttft_ms", "tpot_ms", "e2e_ms"};
  for (std::size_t i = 0; i < std::size(tables); ++i) {
    ValidatedLatency& latency = report.latencies[i];
    for (const auto& [name, figure] : latency_statistics) {
      const FigureInterval interval =
          of_server(*interval_of(simulated, tables[i], name), latency.simulated.*figure, tables[i]);
      latency.low.*figure = interval.low;
      latency.high.*figure = interval.high;
    }
  }
  constexpr const char* rates[] = {"requests_per_s", "input_tokens_per_s", "output_tokens_per_s"};
  for (std::size_t i = 0; i < std::size(rates); ++i)
    report.figures[i].interval = interval_of(simulated, "whole_run", rates[i]);
}

}  // namespace

ValidationReport compare_with_recorded(const ServedRun& measured, const Report& simulated) {
  FORETOKEN_CHECK(measured.requests.size() == simulated.rows.size(),
                  "{} requests recorded, {} simulated", measured.requests.size(),
                  simulated.rows.size());
  ValidationReport report;
  report.title = simulated.title;
  report.recorded = measured.file.generic_string();
  report.requests = static_cast<std::int64_t>(measured.requests.size());
  report.scenario = simulated.scenario;

  report.latencies = latencies_of(measured, simulated, "");
  const std::vector<std::string> models = measured.models();
  for (const std::string& model : models) {
    if (models.size() < 2) break;
    std::ranges::move(latencies_of(measured, simulated, model),
                      std::back_inserter(report.latencies));
  }
  double input_tokens = 0, output_tokens = 0;
  for (const ServedRequest& request : measured.requests) {
    input_tokens += static_cast<double>(request.prompt_tokens);
    output_tokens += static_cast<double>(request.output_tokens);
  }
  const auto lost =
      std::ranges::count_if(simulated.rows, [](const RequestRow& row) { return !row.e2e_ms; });

  const double time = measured.duration().value();
  const auto requests = static_cast<double>(report.requests);
  report.figures = {
      {"requests", "/s", rate_of(requests, time), simulated.whole_run.requests_per_s},
      {"input tokens", "/s", rate_of(input_tokens, time), simulated.whole_run.input_tokens_per_s},
      {"output tokens", "/s", rate_of(output_tokens, time),
       simulated.whole_run.output_tokens_per_s},
      {"duration", "s", time, simulated.duration_s}};
  add_intervals(simulated, report);
  if (lost > 0) {
    std::string why;
    for (const NamedCount& reason : simulated.requests.failed_by)
      why += fmt::format("{}{} failed: {}", why.empty() ? " (" : "; ", reason.count,
                         failure_text(reason.name));
    report.notes.push_back(fmt::format("{} of {} requests did not finish in the simulation{}", lost,
                                       simulated.rows.size(), why.empty() ? "" : why + ")"));
  }
  if (measured.has_two_clocks) {
    report.notes.push_back(
        "arrivals and timestamps come from two clocks: delays count from the fastest hand-over");
  }
  return report;
}

}  // namespace foretoken
