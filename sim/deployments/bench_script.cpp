#include "sim/deployments/bench_script.hpp"

#include <charconv>

#include "sim/base/json.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"
#include "sim/report/command_text.hpp"

namespace foretoken {
namespace {

constexpr int bench_width = 100;
constexpr std::int64_t requests_written_max = 200'000;

class BenchWriter {
 public:
  BenchWriter(const Scenario& scenario, const LaunchedDeployment& deployment)
      : scenario_(scenario),
        server_(deployment.servers.front()),
        launcher_(launcher_called(server_.launcher, server_.position)),
        workload_(scenario.workload->resolved()),
        arrivals_(text("arrivals")) {}

  BenchScript write() {
    const bool is_plain = number("prompt_tokens") > 0 && number("output_tokens") > 0 &&
                          (arrivals_ == "poisson" || arrivals_ == "gamma" ||
                           arrivals_ == "closed_loop" || arrivals_ == "all_at_once") &&
                          workload_.find("requests") != nullptr &&
                          workload_.find("window") == nullptr &&
                          workload_.find("diurnal") == nullptr && workload_.find("part") == nullptr;
    const std::vector<std::string> command = !is_plain                     ? aiperf_command()
                                             : launcher_.bench == "sglang" ? sglang_command()
                                                                           : vllm_command();
    out_.text = fmt::format(
        "#!/usr/bin/env bash\n"
        "# Sends the traffic of scenario.toml to the servers of launch.sh, then compares "
        "measurement and\n"
        "# prediction. With several replicas, set URL to their load balancer.\n"
        "set -euo pipefail\n"
        "cd \"$(dirname \"$0\")\"\n"
        "URL=${{URL:-http://localhost:{}}}\n"
        "\n"
        "{}\n"
        "{}foretoken {}\n",
        launcher_.port, command_lines(command, bench_width, 0), collecting_, reading_);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string text(std::string_view key) const {
    const Value* value = workload_.find(key);
    return value == nullptr ? "" : launch_value_text(*value);
  }
  [[nodiscard]] std::int64_t number(std::string_view key) const {
    const Value* value = workload_.find(key);
    const auto* whole = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->data);
    return whole == nullptr ? 0 : *whole;
  }
  /// "4 /s" as 4, times rate_scale.
  [[nodiscard]] std::string rate() const {
    const std::string rate = text("rate"), scale = text("rate_scale");
    double value = 0, factor = 1;
    std::from_chars(rate.data(), rate.data() + rate.size(), value);
    std::from_chars(scale.data(), scale.data() + scale.size(), factor);
    return rate.empty() ? "" : fmt::format("{:.6g}", value * factor);
  }

  void append_pace(std::vector<std::string>& words) const {
    words.push_back("--request-rate " + (rate().empty() ? "inf" : rate()));
    if (arrivals_ == "closed_loop") words.push_back("--max-concurrency " + text("users"));
  }

  [[nodiscard]] std::vector<std::string> vllm_command() {
    reading_ = "validate result.json";
    std::vector<std::string> words = {"vllm bench serve",
                                      "--backend openai",
                                      "--base-url \"$URL\"",
                                      "--model " + shell_word(server_.model),
                                      "--dataset-name random",
                                      "--random-input-len " + text("prompt_tokens"),
                                      "--random-output-len " + text("output_tokens"),
                                      "--num-prompts " + text("requests")};
    append_pace(words);
    if (arrivals_ == "gamma") words.push_back("--burstiness " + burstiness());
    words.insert(words.end(),
                 {fmt::format("--seed {}", scenario_.run.seed), "--ignore-eos", "--save-result",
                  "--save-detailed", "--result-filename result.json"});
    return words;
  }

  /// vLLM's is the Gamma distribution's shape, which falls as bursts grow.
  [[nodiscard]] std::string burstiness() const { return text("burstiness"); }

  [[nodiscard]] std::vector<std::string> sglang_command() {
    reading_ = "validate result.jsonl";
    std::vector<std::string> words = {"python3 -m sglang.bench_serving",
                                      "--backend sglang",
                                      "--base-url \"$URL\"",
                                      "--model " + shell_word(server_.model),
                                      "--dataset-name random-ids",
                                      "--random-input-len " + text("prompt_tokens"),
                                      "--random-output-len " + text("output_tokens"),
                                      "--random-range-ratio 1",
                                      "--num-prompts " + text("requests")};
    append_pace(words);
    if (arrivals_ == "gamma")
      out_.notes.emplace_back("SGLang's client cannot send bursts: its arrivals are Poisson");
    words.insert(words.end(), {fmt::format("--seed {}", scenario_.run.seed), "--output-details",
                               "--output-file result.jsonl"});
    return words;
  }

  [[nodiscard]] std::vector<std::string> aiperf_command() {
    const bool is_open = arrivals_ != "closed_loop";
    reading_ = "validate profile_export.jsonl";
    collecting_ = "cp result/profile_export.jsonl .\n";
    write_traffic(is_open);
    std::vector<std::string> words = {"aiperf profile",
                                      "--model " + shell_word(server_.model),
                                      "--url \"$URL\"",
                                      "--endpoint-type completions",
                                      "--streaming",
                                      "--input-file traffic.jsonl",
                                      "--custom-dataset-type mooncake_trace"};
    words.push_back(is_open ? "--fixed-schedule" : "--concurrency " + text("users"));
    words.emplace_back("--extra-inputs ignore_eos:true");
    words.emplace_back("--output-artifact-dir result");
    return words;
  }

  void write_traffic(bool is_open) {
    const std::unique_ptr<RequestSource> source =
        scenario_.workload->start(RandomStreams(scenario_.run.seed));
    std::int64_t written = 0;
    bool has_turns = false;
    while (const std::optional<Request> request = source->next()) {
      has_turns = has_turns || request->session_requests > 1;
      if (++written > requests_written_max) {
        out_.notes.push_back(
            fmt::format("traffic.jsonl holds the first {} requests", requests_written_max));
        return;
      }
      Value line;
      if (is_open) line.set("timestamp", request->arrival.value() * 1e3);
      line.set("input_length", request->prompt_tokens);
      line.set("output_length", request->output_tokens);
      if (!request->prefix_hashes.empty() && request->prefix_block_tokens == 512) {
        ValueArray hashes;
        for (const std::uint64_t hash : request->prefix_hashes)
          hashes.emplace_back(static_cast<std::int64_t>(hash & 0x7fffffffffffffffU));
        line.set("hash_ids", std::move(hashes));
      }
      out_.traffic += to_json(line, -1) + "\n";
      // A closed loop goes on when somebody has his answer.
      if (!is_open) source->on_finished(request->id, request->arrival);
    }
    if (has_turns)
      out_.notes.emplace_back("traffic.jsonl has only the first turn of every conversation");
  }

  const Scenario& scenario_;
  const LaunchedServer& server_;
  const Launcher& launcher_;
  Value workload_;
  std::string arrivals_;
  std::string collecting_, reading_;  // how the result is found and read
  BenchScript out_;
};

}  // namespace

BenchScript bench_script(const Scenario& scenario, const LaunchedDeployment& deployment) {
  return BenchWriter(scenario, deployment).write();
}

}  // namespace foretoken
