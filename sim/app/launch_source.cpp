#include "sim/app/launch_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/deployments/deployment_format.hpp"
#include "sim/report/terminal_text.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

// What is taken where nobody says anything about the traffic: a chat's order of size.
constexpr std::int64_t prompt_tokens_assumed = 1024, output_tokens_assumed = 256;
constexpr std::int64_t requests_assumed = 400;

/// "4", "4/s" and "4 /s".
std::string rate_text(std::string text) {
  std::erase(text, ' ');
  const auto slash = std::min(text.find('/'), text.size());
  return text.substr(0, slash) + " " + (slash == text.size() ? "/s" : text.substr(slash));
}

class TrafficTable {
 public:
  TrafficTable(const LaunchSource& source, std::vector<std::string>& notes)
      : source_(source), notes_(notes) {}

  Value build() {
    const bool is_replayed = !source_.traffic.empty() && source_.rate.empty() && source_.users == 0;
    if (is_replayed) {
      table_.set("arrivals", "trace");
    } else if (source_.users > 0) {
      table_.set("arrivals", "closed_loop");
      table_.set("users", source_.users);
    } else {
      table_.set("arrivals", "poisson");
      table_.set("rate", source_.rate.empty() ? "1 /s" : rate_text(source_.rate));
      if (source_.rate.empty()) assumed_.emplace_back("1 request/s (--rate)");
    }
    if (!source_.traffic.empty()) {
      table_.set("trace", std::filesystem::absolute(source_.traffic).lexically_normal().string());
    }
    set_count("requests", source_.requests, requests_assumed, "requests (--requests)");
    set_count("prompt_tokens", source_.prompt_tokens, prompt_tokens_assumed,
              "prompt tokens (--prompt-tokens)");
    set_count("output_tokens", source_.output_tokens, output_tokens_assumed,
              "output tokens (--output-tokens)");
    if (!assumed_.empty()) {
      notes_.push_back(fmt::format("a launch command does not say the traffic; assumed: {}",
                                   fmt::join(assumed_, ", ")));
    }
    return std::move(table_);
  }

 private:
  void set_count(const char* key, std::int64_t given, std::int64_t assumed, const char* text) {
    if (given > 0) {
      table_.set(key, given);
    } else if (source_.traffic.empty()) {
      table_.set(key, assumed);
      assumed_.push_back(fmt::format("{} {}", assumed, text));
    }
  }

  const LaunchSource& source_;
  std::vector<std::string>& notes_;
  Value table_;
  std::vector<std::string> assumed_;
};

std::string fate_text(FlagFate fate) {
  switch (fate) {
    case FlagFate::set:
      return "";
    case FlagFate::no_effect:
      return "no effect";
    case FlagFate::not_modelled:
      return "left out";
    case FlagFate::unknown:
      break;
  }
  return "unknown";
}

}  // namespace

void add_launch_options(CLI::App& command, CLI::Option* from, LaunchSource& source) {
  const auto add = [&](const char* name, auto& value, const char* text) {
    CLI::Option* option = command.add_option(name, value, text);
    if (from != nullptr) option->needs(from);
    return option;
  };
  add("--service", source.service, "Service to use, if the file defines several");
  add("--rate", source.rate, "Arrival rate, such as 4/s");
  add("--users", source.users,
      "Concurrent users, each of whom waits for the answer, instead of --rate")
      ->check(CLI::PositiveNumber)
      ->excludes("--rate");
  add("--prompt-tokens", source.prompt_tokens, "Prompt length, in tokens")
      ->check(CLI::PositiveNumber);
  add("--output-tokens", source.output_tokens, "Output length, in tokens")
      ->check(CLI::PositiveNumber);
  add("--requests", source.requests, "Number of requests")->check(CLI::PositiveNumber);
  add("--traffic", source.traffic, "Trace file for lengths and, without --rate, arrival times")
      ->check(CLI::ExistingFile);
}

LaunchedScenario servers_from(const LaunchSource& source) {
  return launched_scenario(read_deployment(source.from, source.service), source.model,
                           source.cluster);
}

LaunchedScenario scenario_from(const LaunchSource& source) {
  LaunchedScenario scenario = servers_from(source);
  scenario.tables.set("workload", TrafficTable(source, scenario.notes).build());
  return scenario;
}

std::vector<std::filesystem::path> inputs_of(const LaunchSource& source) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : {source.from, source.traffic, source.cluster, source.model})
    if (!name.empty() && name.find_first_of(" \n") == std::string::npos) files.emplace_back(name);
  return files;
}

std::string import_text(const LaunchedScenario& scenario, int width, bool colour, bool is_short) {
  const bool names_services = std::ranges::any_of(scenario.flags, [&](const FlagOutcome& flag) {
    return flag.service != scenario.flags[0].service;
  });
  std::vector<TextColumn> columns = {{"flag", Align::left},
                                     {"value", Align::left},
                                     {"", Align::left},
                                     {.header = "becomes", .folds = true}};
  if (names_services) columns.insert(columns.begin(), {"server", Align::left});
  TextTable table(columns);
  bool is_empty = true;
  constexpr std::size_t value_max = 28;
  for (const FlagOutcome& flag : scenario.flags) {
    if (is_short && (flag.fate == FlagFate::set || flag.fate == FlagFate::no_effect)) continue;
    is_empty = false;
    const std::string value =
        flag.value.size() > value_max ? flag.value.substr(0, value_max - 3) + "..." : flag.value;
    std::vector<std::string> row = {flag.flag, value, fate_text(flag.fate), flag.meaning};
    if (names_services) row.insert(row.begin(), flag.service);
    table.add_row(row);
  }
  std::string text;
  if (!is_empty) text += table.text({.width = width, .colour = colour, .kept = 1});
  for (const std::string& note : scenario.notes) text += folded("note: " + note, width, 2) + "\n";
  return text;
}

}  // namespace foretoken
