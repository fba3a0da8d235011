#include "workloads/requests/workload.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/named_path.hpp"
#include "workloads/requests/traffic.hpp"
#include "workloads/requests/traffic_keys.hpp"
#include "workloads/requests/workload_keys.hpp"

namespace foretoken {
namespace {

/// Twice the longest context sold; products with counts of blocks stay within 64 bits.
constexpr int prefix_block_tokens_max = 1 << 21;

/// The keys that stand in the table as they are; the rest is Traffic's.
struct WorkloadTable {
  std::string arrivals;
  TrafficLimits limits;
  std::string trace, trace_format;
  int prefix_block_tokens = 0;
  bool skip_bad_lines = false;
};

const Keys<WorkloadTable>& arrival_keys() {
  static const Keys<WorkloadTable> keys = {
      {"arrivals",
       &WorkloadTable::arrivals,
       {.fallback = "\"trace\" where a trace is named, else required",
        .allowed = "a name from foretoken list"},
       "How requests arrive. Processes have their own keys, listed below."},
  };
  return keys;
}

const Keys<WorkloadTable>& limit_keys() {
  using S = WorkloadTable;
  static const Keys<S> keys = {
      {"requests",
       [](auto& s) -> decltype(auto) { return (s.limits.requests); },
       {.range = at_least(1), .unit = "requests"},
       "Total number of requests. Generated traffic needs this, duration, window or part to end."},
      {{.name = "duration",
        .type = "time",
        .unit = std::string(quantity_example<Seconds>()),
        .fallback = "not set",
        .allowed = "above 0",
        .meaning = "No request arrives at or after this time; those before it are served to their "
                   "end."},
       [](TableReader& table, S& s) {
         Seconds duration;
         if (!table.read("duration", duration)) return;
         expect_time(table, "duration", duration, false);
         s.limits.duration = duration;
       },
       [](const S& s) { return KeyForm<std::optional<Seconds>>::write(s.limits.duration); }},
  };
  return keys;
}

const Keys<WorkloadTable>& trace_keys() {
  using S = WorkloadTable;
  static const Keys<S> keys = {
      {"trace",
       &S::trace,
       {.fallback = "not set", .allowed = "a path", .quiet = true},
       "File of recorded requests, for arrivals, lengths or both; a relative path starts at the "
       "scenario's folder."},
      {"trace_format",
       &S::trace_format,
       {.fallback = "found from the first line",
        .allowed = "a name from foretoken list",
        .quiet = true},
       "Format of the trace."},
      {"prefix_block_tokens",
       &S::prefix_block_tokens,
       {.range = at_least(1),
        .unit = "tokens",
        .fallback =
            "the trace's (512 unless it says otherwise); with sessions and agents block_tokens",
        .quiet = true},
       "Prompt tokens that one prefix hash stands for. Must be a multiple of the engine's "
       "block_tokens."},
      {"skip_bad_lines",
       &S::skip_bad_lines,
       {.quiet = true},
       "Whether malformed lines of the trace are skipped and counted instead of rejected."},
  };
  return keys;
}

Keys<Traffic> length_keys(const LengthRegistry& registry,
                          const std::shared_ptr<const Trace>& trace) {
  return {
      length_key<Traffic>({.name = "prompt_tokens",
                           .fallback = "the trace's, else required",
                           .meaning = "Prompt tokens of a request; with sessions, of what the user "
                                      "writes in one turn."},
                          &Traffic::prompt_tokens, {LengthOf::prompt, trace}, registry),
      length_key<Traffic>({.name = "output_tokens",
                           .fallback = "the trace's, else required",
                           .meaning = "Output tokens of a request."},
                          &Traffic::output_tokens, {LengthOf::output, trace}, registry)};
}

class TrafficWorkload final : public Workload {
 public:
  TrafficWorkload(Traffic traffic, WorkloadTable table)
      : traffic_(std::move(traffic)), table_(std::move(table)) {}

  std::unique_ptr<RequestSource> start(const RandomStreams& random) const override {
    return start_traffic(traffic_, random);
  }

  int prefix_block_tokens() const override { return traffic_.prefix_block_tokens; }
  std::int64_t adapters() const override { return traffic_.adapters.count; }
  bool has(Medium medium) const override {
    const MediaTraffic& media = traffic_.media;
    const bool is_drawn = medium == Medium::image ? !media.images.empty() : !media.audio.empty();
    return is_drawn || traffic_.trace_encoders[static_cast<std::size_t>(medium)].has_value();
  }

  std::vector<std::string> models() const override { return traffic_.classes.models(); }

  double share_of_model(int model) const override { return traffic_.classes.share_of_model(model); }

  std::vector<Tenant> tenants() const override { return traffic_.classes.tenants(); }
  std::vector<int> priorities() const override { return traffic_.classes.priorities(); }

  Value resolved() const override {
    Value table;
    arrival_keys().write(table_, table);
    traffic_.arrivals->describe(table);
    limit_keys().write(table_, table);
    trace_keys().write(table_, table);
    length_keys(length_registry(), nullptr).write(traffic_, table);
    if (traffic_.sessions) describe(*traffic_.sessions, table);
    if (traffic_.agents) describe(*traffic_.agents, table);
    if (traffic_.system_prompts) describe(*traffic_.system_prompts, table);
    if (traffic_.has_trajectories()) {
      table.set("prefix_block_tokens", traffic_.prefix_block_tokens);
    }
    traffic_.classes.describe(table);
    describe(traffic_.adapters, table);
    describe(traffic_.media, table);
    patience_keys().write(traffic_.patience, table);
    time_transform_keys().write(traffic_.transform, table);
    return table;
  }

 private:
  Traffic traffic_;
  WorkloadTable table_;
};

/// Reads the table part by part; each part may rely on the ones before it.
class WorkloadReader {
 public:
  WorkloadReader(TableReader& table, const WorkloadOptions& options, const WorkloadCatalog& catalog)
      : table_(table), options_(options), catalog_(catalog) {}

  std::unique_ptr<Workload> read() {
    arrival_keys().read(table_, given_);
    limit_keys().read(table_, given_);
    trace_keys().read(table_, given_);
    read_trace();
    check_requests();
    read_arrivals();
    length_keys(catalog_.lengths, traffic_.trace).read(table_, traffic_);
    read_trajectories();
    read_prefix_blocks();
    read_classes();
    traffic_.adapters = read_adapters(table_);
    read_media_traffic();
    patience_keys().read(table_, traffic_.patience);
    time_transform_keys().read(table_, traffic_.transform);
    table_.finish();
    if (traffic_.arrivals != nullptr) check_limits();
    if (!table_.diagnostics().empty()) return nullptr;
    check_trace_is_used();
    check_not_empty();
    if (!table_.diagnostics().empty()) return nullptr;
    return std::make_unique<TrafficWorkload>(traffic_, as_used());
  }

 private:
  void read_trace() {
    const bool has_format = table_.find("trace_format") != nullptr;
    given_.skip_bad_lines |= options_.skip_bad_lines;
    if (given_.trace.empty()) {
      table_.expect("trace_format", !has_format || table_.find("trace") != nullptr,
                    "has no effect without trace = \"path\"");
      return;
    }
    std::string format = given_.trace_format;
    const std::filesystem::path file =
        named_path(given_.trace, table_.position("trace"), options_.base_folder);
    given_.trace = std::filesystem::absolute(file).lexically_normal().string();
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
      traffic_.trace = load_trace(file, format, given_.skip_bad_lines, catalog_.trace_formats);
    });
    report_trace(problems);
  }

  void read_trajectories() {
    traffic_.sessions = read_sessions(table_, catalog_.lengths);
    traffic_.agents = read_agents(table_, catalog_.lengths);
    traffic_.system_prompts = read_system_prompts(table_, catalog_.lengths);
    table_.expect("trace", !traffic_.has_trajectories() || traffic_.trace == nullptr,
                  "has no effect with sessions, agents or system_prompts, which are generated; "
                  "remove it");
    table_.expect("agents", !traffic_.agents || !traffic_.sessions,
                  "and sessions are mutually exclusive; keep one of the two tables");
  }

  void read_media_traffic() {
    traffic_.media = read_media(table_, options_.vision, options_.audio, catalog_.lengths);
    for (const auto& [key, own] :
         {std::pair{"images", &traffic_.media.images}, std::pair{"audio", &traffic_.media.audio}}) {
      table_.expect(key, own->empty() || !traffic_.replays_trajectories(),
                    fmt::format("cannot be combined with a trace whose calls wait for each other: "
                                "later turns would have the {} of earlier ones, which is not "
                                "modelled",
                                key));
    }
    read_trace_media();
  }

  void read_trace_media() {
    const bool are_the_traces =
        traffic_.prompt_tokens != nullptr && traffic_.prompt_tokens->uses_trace();
    if (traffic_.trace == nullptr || !are_the_traces) return;
    read_trace_medium(Medium::image, "images", "a [vision]", traffic_.media.images,
                      options_.vision);
    read_trace_medium(Medium::audio, "audio", "an [audio]", traffic_.media.audio, options_.audio);
  }

  void read_trace_medium(Medium medium, const char* key, const char* model_table,
                         const MediumTraffic& drawn, const std::optional<MediaEncoder>& encoder) {
    if (!traffic_.trace->has(medium)) return;
    table_.expect(key, drawn.empty(),
                  fmt::format("the trace has {} of its own; remove the table, or give "
                              "prompt_tokens",
                              key));
    const bool takes = encoder && encoder->takes_media();
    table_.expect(
        "trace", takes,
        fmt::format("its requests have {}, which the model does not take; choose one with "
                    "{} table (foretoken model show NAME), or give prompt_tokens",
                    key, model_table));
    if (takes) traffic_.trace_encoders[static_cast<std::size_t>(medium)] = encoder;
  }

  /// Arrivals that are a trace's ask for the models that it names.
  void read_classes() {
    traffic_.classes = read_request_classes(table_, catalog_.lengths, traffic_.trace);
    if (traffic_.trace == nullptr || given_.arrivals != "trace") return;
    if (traffic_.replays_trajectories()) return;  // all calls of one ask for one model
    try {
      traffic_.classes.follow(*traffic_.trace);
    } catch (const ConfigError& error) {
      table_.fail("classes", error.diagnostics().front().message);
    }
  }

  /// Prompts of other lengths than the trace's share nothing with each other.
  void read_prefix_blocks() {
    const bool shares = traffic_.trace != nullptr && traffic_.trace->shares_prefixes() &&
                        traffic_.prompt_tokens != nullptr && traffic_.prompt_tokens->uses_trace();
    if (shares) traffic_.prefix_block_tokens = traffic_.trace->prefix_block_tokens();
    const bool has_texts =
        traffic_.has_trajectories() || (traffic_.trace != nullptr && traffic_.trace->has_texts());
    if (!shares && has_texts) traffic_.prefix_block_tokens = options_.block_tokens;
    if (table_.find("prefix_block_tokens") == nullptr) return;
    traffic_.prefix_block_tokens = given_.prefix_block_tokens;
    table_.expect("prefix_block_tokens", traffic_.prefix_block_tokens <= prefix_block_tokens_max,
                  fmt::format("must be at most {}", prefix_block_tokens_max), Mistake::slip);
    table_.expect(
        "prefix_block_tokens", shares || has_texts,
        "has no effect without sessions, agents, system_prompts or a trace whose requests "
        "have prefix hashes and whose prompt lengths are used; remove it");
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

  void check_requests() {
    traffic_.limits = given_.limits;
    table_.expect("requests",
                  given_.limits.requests.value_or(1) <= std::numeric_limits<std::uint32_t>::max(),
                  "must be at most 4294967295", Mistake::slip);
  }

  /// The table with what was found out about the trace.
  [[nodiscard]] WorkloadTable as_used() const {
    WorkloadTable used = given_;
    used.trace_format = traffic_.trace != nullptr ? traffic_.trace->format() : "";
    used.prefix_block_tokens = traffic_.trace != nullptr ? traffic_.prefix_block_tokens : 0;
    // Written only where it matters, so that a clean trace resolves the same with and without.
    used.skip_bad_lines = traffic_.trace != nullptr && traffic_.trace->skipped_lines() > 0;
    return used;
  }

  void read_arrivals() {
    const bool is_replayed = traffic_.trace != nullptr && table_.find("arrivals") == nullptr;
    if (is_replayed) given_.arrivals = "trace";
    const bool named = is_replayed || (table_.has("arrivals") && !given_.arrivals.empty());
    const ArrivalVariant* variant = nullptr;
    if (named) {
      table_.diagnostics().attempt([&] {
        variant = &catalog_.arrivals.find(given_.arrivals, table_.position("arrivals")).make;
      });
    }
    if (variant != nullptr) {
      traffic_.arrivals = variant->make(table_, {traffic_.trace, traffic_.limits.requests});
    }
    explain_misplaced_keys(variant);
  }

  /// Keys of the other processes: better explained than called unknown.
  void explain_misplaced_keys(const ArrivalVariant* chosen) {
    for (const auto& entry : catalog_.arrivals.entries()) {
      for (const KeyNote& note : entry.make.keys) {
        const std::string& key = note.name;
        if (chosen != nullptr &&
            std::ranges::find(chosen->keys, key, &KeyNote::name) != chosen->keys.end())
          continue;
        if (table_.find(key) == nullptr || chosen == nullptr) continue;
        table_.expect(
            key, false,
            fmt::format("has no effect with arrivals = \"{}\"; remove it", given_.arrivals));
      }
    }
  }

  void check_limits() {
    const ArrivalProcess& arrivals = *traffic_.arrivals;
    const TimeTransform& transform = traffic_.transform;
    if (arrivals.waits_for_answers()) {
      constexpr std::string_view message =
          "has no effect with a closed loop, whose users set the pace; remove it";
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
    const bool used = traffic_.trace == nullptr || given_.arrivals == "trace" ||
                      traffic_.prompt_tokens->uses_trace() || traffic_.output_tokens->uses_trace();
    table_.expect("trace", used,
                  "is not used: arrivals and lengths are generated. Remove it, or set "
                  "arrivals = \"trace\"");
  }

  /// Whether a trace (or a batch at time 0) has anybody within window and duration; what a
  /// generator yields is chance.
  void check_not_empty() {
    // A part of a day may be a silent one.
    if (!traffic_.arrivals->is_finite() || traffic_.transform.part) return;
    if (start_traffic(traffic_, RandomStreams(0))->next()) return;
    const std::string span =
        traffic_.trace == nullptr || given_.arrivals != "trace"
            ? "every request comes at 0 s"
            : fmt::format("the trace spans 0 s to {:.6g} s", traffic_.trace->span().value());
    table_.fail(traffic_.transform.window ? "window" : "duration",
                fmt::format("leaves no request; {}", span));
  }

  TableReader& table_;
  const WorkloadOptions& options_;
  const WorkloadCatalog& catalog_;
  Traffic traffic_;
  WorkloadTable given_;
};

}  // namespace

std::string media_text(const Workload& workload) {
  if (!workload.has(Medium::audio)) return "images of requests ([workload.images])";
  if (!workload.has(Medium::image)) return "audio of requests ([workload.audio])";
  return "images and audio of requests";
}

std::unique_ptr<Workload> read_workload(TableReader& table, const WorkloadOptions& options,
                                        const WorkloadCatalog& catalog) {
  return WorkloadReader(table, options, catalog).read();
}

std::vector<KeyTable> workload_key_tables() {
  std::vector<KeyNote> notes = arrival_keys().notes();
  const auto add = [&](const std::vector<KeyNote>& more) {
    notes.insert(notes.end(), more.begin(), more.end());
  };
  const LengthRegistry lengths = length_registry();
  add(limit_keys().notes());
  add(trace_keys().notes());
  add(length_keys(lengths, nullptr).notes());
  add({{"sessions", "table", "", "not set", "",
        "Conversations instead of single requests: [workload.sessions]."},
       {"agents", "table", "", "not set", "",
        "Agents instead of single requests: [workload.agents]."},
       {"system_prompts", "table", "", "not set", "",
        "Prefixes that prompts share: [workload.system_prompts]."},
       adapters_note()});
  add(media_notes());
  add(request_class_notes());
  add(patience_keys().notes());
  add(time_transform_keys().notes());
  std::vector<KeyTable> tables = {
      {"workload", "", "Traffic: how requests arrive, how long they are, who gives up.", notes}};
  const ArrivalRegistry arrivals = arrival_registry();
  for (const auto& entry : arrivals.entries()) {
    if (entry.make.keys.empty()) continue;
    tables.push_back(
        {"workload", fmt::format("arrivals = \"{}\"", entry.name), entry.summary, entry.make.keys});
  }
  for (const auto& entry : lengths.entries()) {
    if (entry.options.empty()) continue;
    tables.push_back({"workload.TOKENS", fmt::format("distribution = \"{}\"", entry.name),
                      entry.summary, entry.options});
  }
  for (KeyTable& table : time_distribution_tables()) tables.push_back(std::move(table));
  tables.push_back(session_key_table());
  for (KeyTable& table : agent_key_tables()) tables.push_back(std::move(table));
  tables.push_back(system_prompt_key_table());
  for (KeyTable& table : request_class_key_tables()) tables.push_back(std::move(table));
  tables.push_back(adapters_key_table());
  for (KeyTable& table : media_key_tables()) tables.push_back(std::move(table));
  tables.push_back(cancellation_key_table());
  tables.push_back(diurnal_key_table());
  return tables;
}

}  // namespace foretoken
