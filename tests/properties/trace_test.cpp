// Traces of runs of every kind, read back: whatever happens in a run, the file is JSON, every track
// has a name, slices of a track follow or nest, arrows have both ends and touch slices that are
// open, and the run is what it is without a trace.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/base/json.hpp"
#include "sim/run/trace_recorder.hpp"
#include "tests/own_folder.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken {
namespace {

struct Slice {
  std::int64_t start, end;  // ns
  std::string name;
};
using Track = std::pair<std::int64_t, std::int64_t>;  // process and thread

std::int64_t integer(const Value& event, const char* key) {
  const Value* found = event.find(key);
  EXPECT_NE(found, nullptr) << key << " is missing in " << to_json(event, -1);
  return found == nullptr ? 0 : std::get<std::int64_t>(found->data);
}

std::string text(const Value& event, const char* key) {
  const Value* found = event.find(key);
  EXPECT_NE(found, nullptr) << key << " is missing in " << to_json(event, -1);
  return found == nullptr ? "" : std::get<std::string>(found->data);
}

/// The file's microseconds have three decimals.
std::int64_t nanoseconds(const Value& event, const char* key) {
  const Value* found = event.find(key);
  EXPECT_NE(found, nullptr) << key << " is missing in " << to_json(event, -1);
  if (found == nullptr) return 0;
  if (const auto* whole = std::get_if<std::int64_t>(&found->data)) return *whole * 1000;
  return std::llround(std::get<double>(found->data) * 1000);
}

/// A trace, read back and held to the rules of the format.
class ReadTrace {
 public:
  explicit ReadTrace(const std::filesystem::path& path) : root_(load_json(path)) {
    for (const Value& event : std::get<ValueArray>(root_.data)) add(event);
  }

  void check() {
    for (auto& [track, slices] : slices_) {
      EXPECT_TRUE(std::ranges::is_sorted(slices, {}, &Slice::start))
          << "out of order on " << track.first << "/" << track.second;
      EXPECT_TRUE(threads_.contains(track)) << "no name for " << track.first << "/" << track.second;
      check_nesting(track, slices);
    }
    for (const auto& [id, parts] : flows_) check_flow(id, parts);
  }

  [[nodiscard]] std::size_t slices_called(const std::string& name) const {
    std::size_t count = 0;
    for (const auto& [track, slices] : slices_) {
      count += static_cast<std::size_t>(std::ranges::count(slices, name, &Slice::name));
    }
    return count;
  }
  [[nodiscard]] std::size_t flows() const { return flows_.size(); }
  [[nodiscard]] std::size_t flow_steps() const {
    std::size_t count = 0;
    for (const auto& [id, parts] : flows_) count += parts.size() - 2;
    return count;
  }
  [[nodiscard]] std::size_t in_category(const std::string& category) const {
    return static_cast<std::size_t>(std::ranges::count(categories_, category));
  }
  [[nodiscard]] std::size_t counters() const { return counters_; }

 private:
  struct Flow {
    std::string phase;
    Track track;
    std::int64_t at;
  };

  void add(const Value& event) {
    const std::string phase = text(event, "ph");
    const std::string name = text(event, "name");
    if (phase == "C") {
      ++counters_;
      const std::int64_t process = integer(event, "pid");
      EXPECT_TRUE(processes_.contains(process)) << "process " << process << " has no name";
      std::int64_t& last = counter_times_[{process, name}];
      EXPECT_GE(nanoseconds(event, "ts"), last) << name << " goes back in time";
      last = nanoseconds(event, "ts");
      for (const auto& [series, value] : std::get<ValueObject>(event.find("args")->data)) {
        EXPECT_GE(std::get<std::int64_t>(value.data), 0) << name << " " << series;
      }
      return;
    }
    const Track track{integer(event, "pid"), integer(event, "tid")};
    if (phase == "M") {
      if (name == "process_name") processes_.insert(track.first);
      if (name == "thread_name") {
        EXPECT_TRUE(threads_.insert(track).second) << "named twice";
      }
      return;
    }
    EXPECT_TRUE(processes_.contains(track.first)) << "process " << track.first << " has no name";
    const std::int64_t at = nanoseconds(event, "ts");
    EXPECT_GE(at, 0);
    if (phase == "X") {
      const std::int64_t duration = nanoseconds(event, "dur");
      EXPECT_GE(duration, 0) << to_json(event, -1);
      slices_[track].push_back({at, at + duration, name});
      categories_.push_back(text(event, "cat"));
    } else {
      EXPECT_THAT(phase, testing::AnyOf("s", "t", "f"));
      // Readers join what has one category, one name and one number.
      EXPECT_EQ(text(event, "cat"), "flow");
      const std::int64_t id = integer(event, "id");
      EXPECT_EQ(flow_names_.emplace(id, name).first->second, name) << "of flow " << id;
      // The end binds to the slice around it, not to the next one.
      EXPECT_EQ(event.find("bp") != nullptr, phase == "f") << to_json(event, -1);
      flows_[id].push_back({phase, track, at});
    }
  }

  static void check_nesting(const Track& track, std::vector<Slice>& slices) {
    // A slice that begins with another one inside stands first, as the format wants.
    std::ranges::stable_sort(slices, {}, &Slice::start);
    std::vector<Slice> open;
    for (const Slice& slice : slices) {
      while (!open.empty() && open.back().end <= slice.start) open.pop_back();
      if (!open.empty()) {
        ASSERT_LE(slice.end, open.back().end)
            << slice.name << " at " << slice.start << " leaves " << open.back().name << " on track "
            << track.first << "/" << track.second;
      }
      open.push_back(slice);
    }
  }

  /// `slices` by start.
  static bool is_open(const std::vector<Slice>& slices, std::int64_t at) {
    auto after = std::ranges::upper_bound(slices, at, {}, &Slice::start);
    while (after != slices.begin()) {
      if ((--after)->end > at) return true;
    }
    return false;
  }

  void check_flow(std::int64_t id, std::vector<Flow> parts) {
    const auto is = [](const char* phase) {
      return [phase](const Flow& part) { return part.phase == phase; };
    };
    ASSERT_EQ(std::ranges::count_if(parts, is("s")), 1) << "of flow " << id;
    ASSERT_EQ(std::ranges::count_if(parts, is("f")), 1) << "of flow " << id;
    const std::int64_t start = std::ranges::find_if(parts, is("s"))->at;
    const std::int64_t end = std::ranges::find_if(parts, is("f"))->at;
    for (const Flow& part : parts) {
      // Readers sort by time and keep the file's order among equals, in which starts come late.
      EXPECT_TRUE(part.phase == "s" || part.at > start) << "of flow " << id;
      EXPECT_LE(part.at, end) << "of flow " << id;
      EXPECT_TRUE(is_open(slices_[part.track], part.at))
          << "flow " << id << " touches nothing at " << part.at;
    }
  }

  Value root_;
  std::set<std::int64_t> processes_;
  std::set<Track> threads_;
  std::map<Track, std::vector<Slice>> slices_;
  std::map<std::int64_t, std::vector<Flow>> flows_;
  std::map<std::int64_t, std::string> flow_names_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> counter_times_;  // the last
  std::vector<std::string> categories_;
  std::size_t counters_ = 0;
};

std::filesystem::path trace_path() {
  return own_folder() /
         (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".json");
}

struct Traced {
  Report report;
  ReadTrace trace;
};

Traced traced(const Scenario& scenario, const TraceOptions& options) {
  const std::filesystem::path path = trace_path();
  std::filesystem::create_directories(path.parent_path());
  OutputFile file(path);
  TraceRecorder recorder(file, scenario, options);
  RunOptions run_options;
  run_options.observer = &recorder;
  Report report = run_scenario(scenario, Catalogs(), run_options);
  recorder.close();
  file.finish();
  file.publish();
  Traced result{std::move(report), ReadTrace(path)};
  std::filesystem::remove(path);
  return result;
}

std::size_t with_first_token(const Report& report) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.rows, [](const RequestRow& row) { return row.first_token_s.has_value(); }));
}

/// An example, traced with the kernels of some steps, or of all and arrows to all tokens.
class ExampleTrace : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(ExampleTrace, IsSound) {
  const std::string name = std::get<0>(GetParam());
  const bool is_full = std::get<1>(GetParam());
  const std::string file = std::string(FORETOKEN_SOURCE_DIR) + "/examples/" + name + ".toml";
  const Scenario scenario = load_scenario(
      file, parse_changes({is_full ? "workload.requests=20" : "workload.requests=80"}));
  Traced traced_run = traced(scenario, {.kernels_every = is_full ? 1 : 5, .tokens = is_full});
  traced_run.trace.check();
  EXPECT_EQ(traced_run.trace.slices_called("request"), traced_run.report.rows.size());
  EXPECT_GE(traced_run.trace.flows(), with_first_token(traced_run.report));
  EXPECT_GT(traced_run.trace.counters(), 0U);
  // Steps whose halves overlap show none.
  if (name != "two_batch_overlap") {
    EXPECT_GT(traced_run.trace.in_category("kernel"), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ExampleTrace,
    testing::Combine(testing::Values("pipeline_parallel", "disaggregated", "heterogeneous_pools",
                                     "deepseek_v3_ep32", "two_batch_overlap", "host_offload",
                                     "swap", "node_failure", "speculative_eagle", "sglang",
                                     "sessions", "autoscaler"),
                     testing::Bool()),
    [](const auto& example) {
      return std::string(std::get<0>(example.param)) +
             (std::get<1>(example.param) ? "_full" : "_sampled");
    });

TEST(Trace, ShowsEveryStepSendAndToken) {
  const Scenario scenario = scenario_from(busy_pipelines, {"workload.requests=80"});
  Traced all = traced(scenario, {.kernels_every = 1, .tokens = true});
  all.trace.check();
  std::int64_t tokens = 0;
  for (const RequestRow& row : all.report.rows) tokens += row.output_tokens;
  // Two stages, and what goes from the first to the second.
  const auto steps = static_cast<std::size_t>(all.report.iterations);
  EXPECT_EQ(all.trace.in_category("step"), 2 * steps);
  EXPECT_EQ(all.trace.slices_called("send"), steps);
  // An arrow to the step of each token, and to first steps that end no prompt.
  EXPECT_EQ(all.trace.flows(), all.report.rows.size());
  EXPECT_GE(all.trace.flow_steps() + all.trace.flows(), static_cast<std::size_t>(tokens));
}

TEST(Trace, LeavesKernelsOut) {
  const Scenario scenario = scenario_from(busy_pipelines, {"workload.requests=20"});
  const Traced none = traced(scenario, {.kernels_every = 0});
  EXPECT_EQ(none.trace.in_category("kernel"), 0U);
  EXPECT_EQ(none.trace.in_category("part"), 0U);
}

/// Prices again what a run priced: the sum is the step's time.
class KernelSum final : public StepObserver {
 public:
  void on_step(ReplicaId, int, Seconds, Seconds, const Batch&) override {}
  void on_stage_step(const StageStep& step) override {
    Seconds sum;
    for (const PricedKernel& kernel : step.pricer->kernels(step.shapes)) {
      if (!kernel.is_shared) sum += kernel.price.time * kernel.call.calls;
    }
    worst = std::max(worst, std::abs(sum / step.kernel_time - 1));
    ++steps;
  }
  double worst = 0;
  int steps = 0;
};

class KernelPrices : public testing::TestWithParam<const char*> {};

TEST_P(KernelPrices, AddUpToTheStep) {
  const std::string file = std::string(FORETOKEN_SOURCE_DIR) + "/examples/" + GetParam() + ".toml";
  KernelSum sum;
  RunOptions options;
  options.observer = &sum;
  (void)run_scenario(load_scenario(file, parse_changes({"workload.requests=30"})), Catalogs(),
                     options);
  EXPECT_GT(sum.steps, 0);
  EXPECT_LT(sum.worst, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, KernelPrices,
                         testing::Values("quickstart", "pipeline_parallel", "deepseek_v3_ep32",
                                         "sglang", "gpt_oss"),
                         [](const auto& example) { return std::string(example.param); });

TEST(Trace, ChangesNothing) {
  const auto fingerprint = [](const Report& report) {
    return static_cast<double>(report.event_fingerprint >> 11);
  };
  const Scenario scenario = scenario_from(busy_pipelines, {"workload.requests=80"});
  const auto without = in_child([&] { return fingerprint(run_scenario(scenario, Catalogs())); });
  const Traced with = traced(scenario, {.kernels_every = 1, .tokens = true});
  ASSERT_TRUE(without.has_value());
  EXPECT_EQ(*without, fingerprint(with.report));
}

}  // namespace
}  // namespace foretoken
