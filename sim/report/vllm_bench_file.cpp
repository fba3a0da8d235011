// The result file of vLLM's load tool. Written piece by piece: a run has millions of gaps.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "sim/base/json.hpp"
#include "sim/report/tool_samples.hpp"

namespace foretoken {
namespace {

class VllmBenchFile {
 public:
  VllmBenchFile(const Report& report, const TokenGaps& gaps)
      : report_(report), gaps_(gaps), samples_(tool_samples(report, gaps)) {}

  std::string write() {
    out_.push_back('{');
    write_head();
    write_totals();
    write_requests();
    write_peaks();
    write_statistics("ttft", samples_.ttft_ms);
    write_statistics("tpot", samples_.tpot_ms);
    write_statistics("itl", samples_.itl_ms);
    write_statistics("e2el", samples_.e2e_ms);
    out_.append(std::string_view("}\n"));
    return fmt::to_string(out_);
  }

 private:
  void add(std::string_view key, std::string_view json) {
    fmt::format_to(std::back_inserter(out_), "{}\"{}\": {}", out_.size() > 1 ? ", " : "", key,
                   json);
  }
  void add_number(std::string_view key, double value) { add(key, fmt::format("{:.6f}", value)); }
  void add_count(std::string_view key, std::int64_t value) { add(key, fmt::format("{}", value)); }

  /// The key of [workload], or nullptr.
  [[nodiscard]] const Value* traffic(std::string_view key) const {
    const Value* workload = report_.scenario.find("workload");
    return workload == nullptr ? nullptr : workload->find(key);
  }

  [[nodiscard]] std::string model() const {
    const Value* model = report_.scenario.find("model");
    const Value* name = model == nullptr ? nullptr : model->find("name");
    return name == nullptr ? "\"\"" : to_json(*name, -1);
  }

  /// "4 /s" as 4; whatever comes otherwise is "inf", as the tool says of what it does not pace.
  [[nodiscard]] std::string request_rate() const {
    const Value* rate = traffic("rate");
    const auto* text = rate == nullptr ? nullptr : std::get_if<std::string>(&rate->data);
    double value = 0;
    if (text == nullptr) return "\"inf\"";
    std::from_chars(text->data(), text->data() + text->size(), value);
    return fmt::format("{}", value);
  }

  void write_head() {
    const Value* burstiness = traffic("burstiness");
    const Value* users = traffic("users");
    add("date", "\"19700101-000000\"");
    add("endpoint_type", "\"foretoken\"");
    add("backend", "\"foretoken\"");
    add("label", "null");
    add("model_id", model());
    add("tokenizer_id", model());
    add_count("num_prompts", static_cast<std::int64_t>(samples_.counted.size()));
    add("request_rate", request_rate());
    add("burstiness", burstiness == nullptr ? "1.0" : to_json(*burstiness, -1));
    add("max_concurrency", users == nullptr ? "null" : to_json(*users, -1));
  }

  void write_totals() {
    const auto completed = static_cast<std::int64_t>(samples_.completed.size());
    const auto counted = static_cast<std::int64_t>(samples_.counted.size());
    const auto output = static_cast<double>(samples_.output_tokens);
    add_number("duration", samples_.duration_s);
    add_count("completed", completed);
    add_count("failed", counted - completed);
    add_count("total_input_tokens", samples_.input_tokens);
    add_count("total_output_tokens", samples_.output_tokens);
    add_number("request_throughput", samples_.per_second(static_cast<double>(completed)));
    add("request_goodput", report_.slo.targets.empty()
                               ? std::string("null")
                               : fmt::format("{:.6f}", report_.slo.goodput_per_s));
    add_number("output_throughput", samples_.per_second(output));
    add_number("total_token_throughput",
               samples_.per_second(output + static_cast<double>(samples_.input_tokens)));
  }

  template <class Element>
  void write_list(std::string_view key, const Element& element) {
    add(key, "[");
    const char* between = "";
    for (const RequestRow* row : samples_.counted) {
      fmt::format_to(std::back_inserter(out_), "{}{}", between, element(*row));
      between = ", ";
    }
    out_.push_back(']');
  }

  static bool is_answered(const RequestRow& row) {
    return row.status == "completed" && row.ttft_ms.has_value();
  }

  void write_requests() {
    write_list("input_lens", [](const RequestRow& row) { return row.prompt_tokens; });
    write_list("output_lens",
               [](const RequestRow& row) { return is_answered(row) ? row.output_tokens : 0; });
    write_list("start_times",
               [](const RequestRow& row) { return fmt::format("{:.6f}", row.arrival_s); });
    write_list("ttfts", [](const RequestRow& row) {
      return fmt::format("{:.6f}", is_answered(row) ? *row.ttft_ms / 1e3 : 0.0);
    });
    if (gaps_.is_whole) {
      write_list("itls", [this](const RequestRow& row) {
        static const std::vector<float> none;
        return fmt::format("[{:.6f}]",
                           fmt::join(is_answered(row) ? gaps_of(gaps_, row) : none, ", "));
      });
    }
    write_list("generated_texts", [](const RequestRow&) { return "\"\""; });
    write_list("errors", [](const RequestRow& row) {
      return is_answered(row) ? std::string("\"\"")
                              : to_json(row.reason.empty() ? row.status : row.reason, -1);
    });
  }

  /// The most tokens, and the most requests that were under way, in any second.
  void write_peaks() {
    const double begin = samples_.counted.empty() ? 0 : samples_.counted.front()->arrival_s;
    const auto seconds = static_cast<std::size_t>(samples_.duration_s) + 1;
    std::vector<std::int64_t> tokens(seconds), requests(seconds + 1);
    const auto second = [&](double date) {
      return std::min(static_cast<std::size_t>(std::max(0.0, date - begin)), seconds - 1);
    };
    for (const RequestRow* row : samples_.completed) {
      double date = row->arrival_s + *row->ttft_ms / 1e3;
      ++tokens[second(date)];
      for (const float gap : gaps_of(gaps_, *row))
        ++tokens[second(date += static_cast<double>(gap))];
      ++requests[second(row->arrival_s)];
      --requests[second(row->ended_s) + 1];
    }
    for (std::size_t i = 1; i < seconds; ++i) requests[i] += requests[i - 1];
    if (gaps_.is_whole)
      add_number("max_output_tokens_per_s", static_cast<double>(std::ranges::max(tokens)));
    add_count("max_concurrent_requests", std::ranges::max(requests));
  }

  void write_statistics(std::string_view name, const std::vector<double>& samples) {
    if (name == "itl" && !gaps_.is_whole) return;
    const SampleStatistics found = statistics_of(samples);
    add_number(fmt::format("mean_{}_ms", name), found.mean);
    add_number(fmt::format("median_{}_ms", name), found.p50);
    add_number(fmt::format("std_{}_ms", name), found.deviation);
    add_number(fmt::format("p50_{}_ms", name), found.p50);
    add_number(fmt::format("p90_{}_ms", name), found.p90);
    add_number(fmt::format("p95_{}_ms", name), found.p95);
    add_number(fmt::format("p99_{}_ms", name), found.p99);
  }

  const Report& report_;
  const TokenGaps& gaps_;
  ToolSamples samples_;
  fmt::memory_buffer out_;
};

}  // namespace

std::string vllm_bench_json(const Report& report, const TokenGaps& gaps) {
  return VllmBenchFile(report, gaps).write();
}

}  // namespace foretoken
