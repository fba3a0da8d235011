#include "sim/app/traffic_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/unit_text.hpp"

namespace foretoken {
namespace {

// What is taken where nobody says anything about the traffic: a chat's order of size.
constexpr std::int64_t prompt_tokens_assumed = 1024, output_tokens_assumed = 256;
constexpr std::int64_t requests_assumed = 400;
/// Of fitted traffic, which could go on for ever.
constexpr std::int64_t requests_fitted_most = 2000;

/// "4", "4/s" and "4 /s".
std::string rate_text(std::string text) {
  std::erase(text, ' ');
  const auto slash = std::min(text.find('/'), text.size());
  return text.substr(0, slash) + " " + (slash == text.size() ? "/s" : text.substr(slash));
}

std::optional<Seconds> time_option(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  Seconds time;
  if (const auto problem = parse_quantity(text, time)) throw ConfigError({option}, *problem);
  if (!(time >= Seconds(0.0))) throw ConfigError({option}, "must not be negative");
  return time;
}

StatisticsOptions statistics_options(const TrafficSource& source) {
  StatisticsOptions options{.over = time_option(source.over, "--over"), .window = {}};
  if (options.over && !(*options.over > Seconds(0.0)))
    throw ConfigError({"--over"}, "must be above 0, as in --over 10min");
  const auto from = time_option(source.window_from, "--window");
  const auto to = time_option(source.window_to, "--window");
  if (from && to) options.window = TimeWindow{*from, *to};
  if (from && to && *from >= *to)
    throw ConfigError({"--window"}, "must end after it begins, as in --window 0h 2h");
  return options;
}

/// "--prompt-tokens" of "prompt_tokens".
std::string option_for(std::string key) {
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

class TrafficTable {
 public:
  TrafficTable(const TrafficSource& source, std::vector<std::string>& notes)
      : source_(source), notes_(notes) {}

  Value build() {
    if (!source_.files.empty()) take_files();
    take_arrivals();
    take_count("requests", source_.requests, requests_assumed, "requests (--requests)");
    take_count("prompt_tokens", source_.prompt_tokens, prompt_tokens_assumed,
               "prompt tokens (--prompt-tokens)");
    take_count("output_tokens", source_.output_tokens, output_tokens_assumed,
               "output tokens (--output-tokens)");
    if (!assumed_.empty()) {
      notes_.push_back(fmt::format("a launch command does not define traffic; assumed: {}",
                                   fmt::join(assumed_, ", ")));
    }
    return std::move(table_);
  }

 private:
  [[nodiscard]] bool has_arrivals() const { return !source_.rate.empty() || source_.users > 0; }

  void take_files() {
    if (is_statistics(source_.files[0])) {
      const ObservedTraffic traffic = observed_traffic(source_);
      fitted_ = fitted_workload(
          traffic, std::clamp(traffic.requests, requests_assumed, requests_fitted_most),
          fit_notes_);
      notes_.insert(notes_.end(), traffic.notes.begin(), traffic.notes.end());
    } else {
      take_trace();
    }
    if (!has_arrivals()) {
      notes_.insert(notes_.end(), fit_notes_.begin(), fit_notes_.end());
      table_ = fitted_;
      return;
    }
    for (const char* key : {"trace", "prompt_tokens", "output_tokens"})
      if (const Value* value = fitted_.find(key)) table_.set(key, *value);
  }

  /// Replayed; one that does not say when its requests came at the rate, or by the users, that it
  /// tells of.
  void take_trace() {
    const std::filesystem::path path = std::filesystem::absolute(source_.files[0]);
    const ObservedTraffic traffic = has_arrivals() ? ObservedTraffic() : observed_traffic(source_);
    if (has_arrivals() || traffic.span) {
      fitted_.set("arrivals", "trace");
    } else {
      const Value arrivals = fitted_workload(traffic, traffic.requests, fit_notes_);
      for (const char* key : {"arrivals", "rate", "burstiness", "users", "requests"})
        if (const Value* value = arrivals.find(key)) fitted_.set(key, *value);
    }
    fitted_.set("trace", path.lexically_normal().string());
  }

  void take_arrivals() {
    if (source_.users > 0) {
      table_.set("arrivals", "closed_loop");
      table_.set("users", source_.users);
    } else if (!source_.rate.empty()) {
      table_.set("arrivals", "poisson");
      Value rate(rate_text(source_.rate));
      rate.position = {"--rate"};
      table_.set("rate", std::move(rate));
    } else if (source_.files.empty()) {
      table_.set("arrivals", "poisson");
      table_.set("rate", "1 /s");
      assumed_.emplace_back("1 request per second (--rate)");
    }
  }

  void take_count(const char* key, std::int64_t given, std::int64_t assumed, const char* text) {
    if (given > 0) {
      Value count(given);
      count.position = {option_for(key)};
      table_.set(key, std::move(count));
    } else if (source_.files.empty()) {
      table_.set(key, assumed);
      assumed_.push_back(fmt::format("{} {}", assumed, text));
    } else if (has_arrivals() && key == std::string_view("requests") &&
               fitted_.find("trace") == nullptr) {
      table_.set(key, requests_assumed);
    }
  }

  const TrafficSource& source_;
  std::vector<std::string>& notes_;
  std::vector<std::string> fit_notes_;
  Value fitted_, table_;
  std::vector<std::string> assumed_;
};

}  // namespace

std::vector<std::filesystem::path> TrafficSource::paths() const {
  return {files.begin(), files.end()};
}

void add_traffic_files(CLI::App& command, TrafficSource& source) {
  CLI::Option* files =
      command
          .add_option("--traffic", source.files,
                      "Traffic file: a trace, a load tool's result or a server's metrics (repeat "
                      "for metrics before and after)")
          ->check(CLI::ExistingFile)
          ->allow_extra_args(false);
  command.add_option("--over", source.over, "Time the metrics cover, such as 10min")->needs(files);
}

void add_arrival_options(CLI::App& command, CLI::Option* of, TrafficSource& source) {
  CLI::Option* rate = command.add_option("--rate", source.rate, "Arrival rate, such as 4/s");
  CLI::Option* users =
      command
          .add_option("--users", source.users,
                      "Concurrent users, each waiting for the answer, instead of --rate")
          ->check(above_zero())
          ->excludes(rate);
  CLI::Option* requests =
      command.add_option("--requests", source.requests, "Number of requests")->check(above_zero());
  if (of == nullptr) return;
  for (CLI::Option* option : {rate, users, requests}) option->needs(of);
}

ObservedTraffic observed_traffic(const TrafficSource& source) {
  return load_traffic(source.paths(), source.format, statistics_options(source),
                      source.skip_bad_lines);
}

Value traffic_table(const TrafficSource& source, std::vector<std::string>& notes) {
  return TrafficTable(source, notes).build();
}

}  // namespace foretoken
