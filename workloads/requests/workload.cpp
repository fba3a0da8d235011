#include "workloads/requests/workload.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/named_path.hpp"
#include "workloads/requests/traffic.hpp"

namespace foretoken {
namespace {

/// Twice the longest context sold; products with counts of blocks stay within 64 bits.
constexpr int prefix_block_tokens_max = 1 << 21;

/// Where a trace came from, to be written back.
struct TraceOrigin {
  std::filesystem::path path;
  bool skip_bad_lines = false;
};

class TrafficWorkload final : public Workload {
 public:
  TrafficWorkload(Traffic traffic, std::string arrivals, TraceOrigin origin)
      : traffic_(std::move(traffic)), arrivals_(std::move(arrivals)), origin_(std::move(origin)) {}

  std::unique_ptr<RequestSource> start(const RandomStreams& random) const override {
    return start_traffic(traffic_, random);
  }

  int prefix_block_tokens() const override { return traffic_.prefix_block_tokens; }

  Value resolved() const override {
    Value table;
    table.set("arrivals", arrivals_);
    traffic_.arrivals->describe(table);
    if (traffic_.limits.requests) table.set("requests", *traffic_.limits.requests);
    if (traffic_.limits.duration) table.set("duration", exact_text(*traffic_.limits.duration));
    if (traffic_.trace != nullptr) {
      table.set("trace", origin_.path.string());
      table.set("trace_format", traffic_.trace->format());
      if (traffic_.prefix_block_tokens > 0) {
        table.set("prefix_block_tokens", traffic_.prefix_block_tokens);
      }
      // Written only where it matters, so that a clean trace resolves the same with and without.
      if (traffic_.trace->skipped_lines() > 0) table.set("skip_bad_lines", true);
    }
    table.set("prompt_tokens", traffic_.prompt_tokens->resolved());
    table.set("output_tokens", traffic_.output_tokens->resolved());
    if (traffic_.sessions) {
      describe(*traffic_.sessions, table);
      table.set("prefix_block_tokens", traffic_.prefix_block_tokens);
    }
    traffic_.priorities.describe(table);
    describe(traffic_.patience, table);
    describe(traffic_.transform, table);
    return table;
  }

 private:
  Traffic traffic_;
  std::string arrivals_;
  TraceOrigin origin_;
};

/// Reads the table part by part; each part may rely on the ones before it.
class WorkloadReader {
 public:
  WorkloadReader(TableReader& table, const WorkloadOptions& options, const WorkloadCatalog& catalog)
      : table_(table), options_(options), catalog_(catalog) {}

  std::unique_ptr<Workload> read() {
    read_trace();
    read_limits();
    read_arrivals();
    traffic_.prompt_tokens =
        read_lengths(table_, "prompt_tokens", {LengthOf::prompt, traffic_.trace}, catalog_.lengths);
    traffic_.output_tokens =
        read_lengths(table_, "output_tokens", {LengthOf::output, traffic_.trace}, catalog_.lengths);
    traffic_.sessions = read_sessions(table_, catalog_.lengths);
    table_.expect("trace", !traffic_.sessions || traffic_.trace == nullptr,
                  "has no meaning with sessions or system_prompts, which are generated; remove it");
    read_prefix_blocks();
    traffic_.priorities = read_priorities(table_);
    traffic_.patience = read_patience(table_);
    traffic_.transform = read_time_transform(table_);
    table_.finish();
    if (traffic_.arrivals != nullptr) check_limits();
    if (!table_.diagnostics().empty()) return nullptr;
    check_trace_is_used();
    check_not_empty();
    if (!table_.diagnostics().empty()) return nullptr;
    return std::make_unique<TrafficWorkload>(traffic_, arrivals_, origin_);
  }

 private:
  void read_trace() {
    std::string path;
    std::string format;
    const bool has_format = table_.read("trace_format", format);
    origin_.skip_bad_lines = options_.skip_bad_lines;
    table_.read("skip_bad_lines", origin_.skip_bad_lines);
    origin_.skip_bad_lines |= options_.skip_bad_lines;
    if (!table_.read("trace", path)) {
      table_.expect("trace_format", !has_format, "has no meaning without trace = \"path\"");
      return;
    }
    const std::filesystem::path file =
        named_path(path, table_.position("trace"), options_.base_folder);
    origin_.path = std::filesystem::absolute(file).lexically_normal();
    // Something to go on with, so that the other keys are checked even if the trace is unusable.
    traffic_.trace = std::make_shared<Trace>();
    const bool format_is_known = table_.diagnostics().attempt([&] {
      if (has_format) {
        format = catalog_.trace_formats.find(format, table_.position("trace_format")).name;
      }
    });
    if (!format_is_known) return;
    Diagnostics problems;
    problems.attempt([&] {
      traffic_.trace = load_trace(file, format, origin_.skip_bad_lines, catalog_.trace_formats);
    });
    report_trace(problems);
  }

  /// Prompts of other lengths than the trace's share nothing with each other.
  void read_prefix_blocks() {
    const bool shares = traffic_.trace != nullptr && traffic_.trace->shares_prefixes() &&
                        traffic_.prompt_tokens != nullptr && traffic_.prompt_tokens->uses_trace();
    if (shares) traffic_.prefix_block_tokens = traffic_.trace->prefix_block_tokens();
    if (traffic_.sessions) traffic_.prefix_block_tokens = options_.block_tokens;
    if (!table_.read("prefix_block_tokens", traffic_.prefix_block_tokens)) return;
    table_.expect("prefix_block_tokens", traffic_.prefix_block_tokens >= 1, "must be at least 1");
    table_.expect("prefix_block_tokens", traffic_.prefix_block_tokens <= prefix_block_tokens_max,
                  fmt::format("must be at most {}", prefix_block_tokens_max));
    table_.expect("prefix_block_tokens", shares || traffic_.sessions,
                  "has no meaning without sessions, system_prompts or a trace whose requests have "
                  "prefix hashes and whose prompt lengths are used; remove it");
  }

  /// What concerns the file as a whole is told where the scenario names it, lines where they stand.
  void report_trace(const Diagnostics& problems) {
    try {
      problems.throw_if_any();
    } catch (const ConfigError& error) {
      for (const Diagnostic& problem : error.diagnostics()) {
        if (problem.position.line == 0) {
          table_.fail("trace", fmt::format("{}: {}", problem.position.file, problem.message));
        } else {
          table_.diagnostics().add(problem.position, problem.message);
        }
      }
    }
  }

  void read_limits() {
    std::int64_t requests = 1;
    if (table_.read("requests", requests)) traffic_.limits.requests = requests;
    table_.expect("requests", requests >= 1, "must be at least 1");
    table_.expect("requests", requests <= std::numeric_limits<std::uint32_t>::max(),
                  "must be at most 4294967295");
    Seconds duration(1.0);
    if (table_.read("duration", duration)) traffic_.limits.duration = duration;
    expect_time(table_, "duration", duration, false);
  }

  void read_arrivals() {
    arrivals_ = "trace";
    const bool named = (traffic_.trace != nullptr && table_.find("arrivals") == nullptr) ||
                       table_.require("arrivals", arrivals_);
    const ArrivalVariant* variant = nullptr;
    if (named) {
      table_.diagnostics().attempt(
          [&] { variant = &catalog_.arrivals.find(arrivals_, table_.position("arrivals")).make; });
    }
    if (variant != nullptr) {
      traffic_.arrivals = variant->make(table_, {traffic_.trace, traffic_.limits.requests});
    }
    explain_misplaced_keys(variant);
  }

  /// Keys of the other processes: better explained than called unknown.
  void explain_misplaced_keys(const ArrivalVariant* chosen) {
    for (const auto& entry : catalog_.arrivals.entries()) {
      for (const std::string& key : entry.make.keys) {
        if (chosen != nullptr && std::ranges::find(chosen->keys, key) != chosen->keys.end())
          continue;
        if (table_.find(key) == nullptr || chosen == nullptr) continue;
        table_.expect(key, false,
                      fmt::format("has no meaning with arrivals = \"{}\"; remove it", arrivals_));
      }
    }
  }

  void check_limits() {
    const ArrivalProcess& arrivals = *traffic_.arrivals;
    const TimeTransform& transform = traffic_.transform;
    if (arrivals.waits_for_answers()) {
      constexpr std::string_view message =
          "has no meaning with a closed loop, whose users set the pace; remove it";
      table_.expect("window", !transform.window, message);
      table_.expect("rate_scale", transform.rate_scale == 1.0, message);
      table_.expect("diurnal", !transform.diurnal, message);
      table_.expect("part", !transform.part, message);
    }
    const bool limited = table_.find("requests") != nullptr || table_.find("duration") != nullptr ||
                         table_.find("window") != nullptr || table_.find("part") != nullptr;
    if (!arrivals.is_finite() && !limited) {
      table_.fail("requests",
                  "is missing; this traffic never ends. Give requests = 400 or "
                  "duration = \"60 s\"");
    }
  }

  void check_trace_is_used() {
    const bool used = traffic_.trace == nullptr || arrivals_ == "trace" ||
                      traffic_.prompt_tokens->uses_trace() || traffic_.output_tokens->uses_trace();
    table_.expect("trace", used,
                  "is used by nothing: arrivals and lengths are generated. Remove it, or set "
                  "arrivals = \"trace\"");
  }

  /// Whether a trace (or a batch at time 0) has anybody within window and duration; what a
  /// generator yields is chance.
  void check_not_empty() {
    // A part of a day may be a silent one.
    if (!traffic_.arrivals->is_finite() || traffic_.transform.part) return;
    if (start_traffic(traffic_, RandomStreams(0))->next()) return;
    const std::string span =
        traffic_.trace == nullptr || arrivals_ != "trace"
            ? "every request comes at 0 s"
            : fmt::format("the trace spans 0 s to {:.6g} s", traffic_.trace->span().value());
    table_.fail(traffic_.transform.window ? "window" : "duration",
                fmt::format("leaves no request; {}", span));
  }

  TableReader& table_;
  const WorkloadOptions& options_;
  const WorkloadCatalog& catalog_;
  Traffic traffic_;
  std::string arrivals_;
  TraceOrigin origin_;
};

}  // namespace

std::unique_ptr<Workload> read_workload(TableReader& table, const WorkloadOptions& options,
                                        const WorkloadCatalog& catalog) {
  return WorkloadReader(table, options, catalog).read();
}

}  // namespace foretoken
