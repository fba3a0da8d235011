#include "sim/planner/plan/plan_settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <ranges>
#include <set>

#include "hardware/gpu.hpp"
#include "hardware/gpu_name.hpp"
#include "sim/base/named_path.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/planner/plan/plan_metrics.hpp"

namespace foretoken {
namespace {

/// Names and counts of [deployment], [engine] and [model] that a plan may choose from.
struct ListedChoice {
  const char* key;
  const char* scenario_key;
  const char* label;
  bool is_count;
  const char* meaning;
};
constexpr std::array layout_choices = std::to_array<ListedChoice>({
    {"tensor_parallel", "deployment.tensor_parallel", "TP", true,
     "Tensor-parallel sizes to try. Not set: 1, 2, 4, 8 and the scenario's, unless pools, "
     "attention ranks or expert ranks depend on it."},
    {"pipeline_parallel", "deployment.pipeline_parallel", "PP", true,
     "Pipeline-parallel sizes to try."},
    {"data_parallel_attention", "deployment.data_parallel_attention", "DP", true,
     "Data-parallel attention sizes to try."},
    {"expert_parallel", "deployment.expert_parallel", "EP", true, "Expert-parallel sizes to try."},
});
constexpr std::array name_choices = std::to_array<ListedChoice>({
    {"preset", "engine.preset", "preset", false, "Engine presets to try."},
    {"scheduler", "engine.scheduler", "scheduler", false, "Schedulers to try."},
    {"dtype", "model.dtype", "dtype", false, "Number formats of the weights to try."},
    {"kv_dtype", "model.kv_dtype", "KV", false, "Number formats of the KV cache to try."},
});

const Keys<PlanSettings>& plan_keys() {
  using S = PlanSettings;
  const Range counted = at_least(1);
  static const Keys<S> keys = {
      {"replicas_max",
       &S::replicas_max,
       {.range = counted, .unit = "replicas"},
       "Largest number of replicas to consider."},
      {"gpus_max",
       &S::gpus_max,
       {.range = counted, .unit = "GPUs"},
       "Largest number of GPUs to consider."},
      {"candidates_at_once",
       &S::candidates_at_once,
       {.range = counted, .unit = "deployments"},
       "Deployments to examine in parallel before comparing bounds."},
      {"front",
       &S::wants_front,
       {},
       "Whether to search for the Pareto front of cost and latency. If not, only the cheapest "
       "deployment is found, in fewer runs."},
      {"margin",
       &S::margin,
       {.range = between(0, 1, "must be from 0 to 1; 0.05 is 5 % more load")},
       "Headroom: share of load beyond the scenario's that a deployment must sustain. 0.05 asks "
       "for 5 % more."},
      {"pay",
       &S::pay,
       {},
       "What is paid for: the GPUs in use, or whole nodes, as clouds rent them."},
      {"confidence",
       &S::confidence,
       {.range = {.low = 0.5,
                  .high = std::nextafter(1.0, 0.0),
                  .message = "is a probability: at least 0.5, below 1"},
        .allowed = "0.5 or more, below 1"},
       "Probability of the intervals that decide whether a deployment meets the SLO."},
      {"tolerance",
       &S::tolerance,
       {.range = between(0.001, 0.5, "must be from 0.001 to 0.5; 0.02 is 2 %")},
       "Tolerance to which the highest load of a deployment is found, as a share of it."},
  };
  return keys;
}

class SettingsReader {
 public:
  SettingsReader(const Value& root, const Value& plan, Diagnostics& diagnostics)
      : root_(root), table_(plan, diagnostics, "plan") {}

  PlanSettings read() {
    read_hardware();
    read_axes();
    plan_keys().read(table_, settings_);
    read_prices();
    read_latency();
    read_replications();
    table_.finish();
    const Value* deployment = root_.find("deployment");
    settings_.names_replicas = root_.find("pool") != nullptr ||  // each its own
                               (deployment != nullptr && deployment->is_object() &&
                                deployment->find("replicas") != nullptr);
    return std::move(settings_);
  }

 private:
  /// Names once each, and at least one.
  void expect_list(std::string_view key, const std::vector<std::string>& values) {
    table_.expect(key, !values.empty(), "names nothing to choose from");
    std::set<std::string> seen;
    for (const std::string& value : values) {
      table_.expect(key, seen.insert(value).second, fmt::format("names {} twice", value));
    }
  }

  /// A file that [plan] names, as --set calls it: from where the user stands.
  static std::string seen_from_here(const std::string& text, const SourcePosition& position) {
    const std::filesystem::path scenario = position.file;
    const std::filesystem::path file = named_path(text, position, scenario.parent_path());
    std::error_code ignored;
    if (text.find_first_of("/.") == std::string::npos || !std::filesystem::exists(file, ignored))
      return text;
    return (file.has_parent_path() ? file : "." / file).string();
  }

  bool read_list(std::string_view key, std::vector<std::string>& out) {
    if (!table_.read(key, out)) return false;
    const std::vector<SourcePosition> positions = positions_of(table_.find(key));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = seen_from_here(out[i], positions[i]);
    expect_list(key, out);
    return true;
  }

  void read_hardware() {
    const bool by_gpu = read_list("gpus", settings_.gpus);
    const bool by_cluster = read_list("clusters", settings_.clusters);
    settings_.cluster_positions = positions_of(table_.find("clusters"));
    table_.expect("clusters", !(by_gpu && by_cluster), "and gpus are mutually exclusive; keep one");
    const std::vector<std::string> known = gpu_names();
    for (std::string& gpu : settings_.gpus) {
      if (std::ranges::find(known, gpu) != known.end()) continue;
      const std::vector<std::string> found = gpus_called(gpu);
      if (found.size() == 1) {
        table_.expect("gpus", std::ranges::find(settings_.gpus, found[0]) == settings_.gpus.end(),
                      fmt::format("names {} twice", found[0]));
        gpu = found[0];
        continue;
      }
      table_.expect("gpus", false,
                    gpu.empty() ? "names no GPU"
                    : found.empty()
                        ? unknown_name_message("GPU", gpu, {known.begin(), known.end()}) +
                              "; for your own GPU, name a cluster file under `clusters`"
                        : ambiguous_gpu_message(gpu, found));
    }
  }

  /// Of the elements of a list, for what is found out about them later.
  static std::vector<SourcePosition> positions_of(const Value* list) {
    std::vector<SourcePosition> positions;
    if (list == nullptr) return positions;
    const auto* elements = std::get_if<ValueArray>(&list->data);
    if (elements == nullptr) return positions;
    for (const Value& element : *elements)
      positions.push_back(element.position.file.empty() ? list->position : element.position);
    return positions;
  }

  void add_axis(std::string key, std::string label, std::vector<std::string> values,
                const Value* list, std::vector<std::string> parts = {}) {
    if (std::ranges::find(settings_.axes, key, &LayoutChoice::key) != settings_.axes.end()) {
      table_.diagnostics().add(list->position,
                               fmt::format("{} is chosen twice; keep one of the lists", key));
    }
    settings_.axes.push_back({std::move(key), std::move(label), std::move(values), std::move(parts),
                              positions_of(list)});
  }

  void read_counts(std::string_view key, const char* label) {
    std::vector<int> counts;
    if (!table_.read(key, counts)) return;
    std::vector<std::string> values;
    for (const int count : counts) {
      table_.expect(key, count >= 1, "must be numbers of at least 1");
      values.push_back(fmt::format("{}", count));
    }
    expect_list(key, values);
    table_.expect(key, !has_pools(),
                  fmt::format("is for deployments without pools; choose under [plan.vary.pool.{}]",
                              has_pools() ? pool_names().front() : ""));
    add_axis(fmt::format("deployment.{}", key), label, std::move(values), table_.find(key));
  }

  void read_names(std::string_view key, const char* scenario_key, const char* label) {
    std::vector<std::string> values;
    if (read_list(key, values)) add_axis(scenario_key, label, std::move(values), table_.find(key));
  }

  void read_axes() {
    for (const ListedChoice& choice : layout_choices) read_counts(choice.key, choice.label);
    read_pools();
    for (const ListedChoice& choice : name_choices)
      read_names(choice.key, choice.scenario_key, choice.label);
    if (const Value* vary = table_.find_table("vary")) read_vary(*vary, "");
    read_usual_tensor();
  }

  [[nodiscard]] std::int64_t scenario_count(std::string_view key) const {
    const Value* deployment = root_.find("deployment");
    if (deployment == nullptr || !deployment->is_object()) return 1;
    const Value* found = deployment->find(key);
    const auto* count = found == nullptr ? nullptr : std::get_if<std::int64_t>(&found->data);
    return count == nullptr ? 1 : *count;
  }

  /// A node's usual sizes and the scenario's own, unless somebody chose or ranks are tied to it.
  void read_usual_tensor() {
    const bool is_chosen = std::ranges::any_of(settings_.axes, [](const LayoutChoice& axis) {
      return axis.key == "deployment.tensor_parallel" ||
             axis.key == "deployment.data_parallel_attention" ||
             axis.key == "deployment.expert_parallel";
    });
    if (is_chosen || has_pools() || scenario_count("data_parallel_attention") > 1 ||
        scenario_count("expert_parallel") > 1)
      return;
    std::set<std::int64_t> sizes = {1, 2, 4, 8};
    sizes.insert(std::max<std::int64_t>(1, scenario_count("tensor_parallel")));
    for (const std::int64_t size : sizes) settings_.usual_tensor.push_back(fmt::format("{}", size));
  }

  [[nodiscard]] std::vector<std::string> pool_names() const {
    std::vector<std::string> names;
    const Value* pools = root_.find("pool");
    if (pools == nullptr || !pools->is_object()) return names;
    for (const auto& [name, pool] : std::get<ValueObject>(pools->data)) names.push_back(name);
    return names;
  }
  [[nodiscard]] bool has_pools() const { return !pool_names().empty(); }

  /// Numbers of at least 1 with ':' between them; of four digits, which no pool reaches.
  static bool is_ratio(std::string_view text) {
    for (const auto part : std::views::split(text, ':')) {
      const std::string digits(part.begin(), part.end());
      if (digits.empty() || digits.size() > 4 || digits.front() == '0' ||
          digits.find_first_not_of("0123456789") != std::string::npos)
        return false;
    }
    return true;
  }

  void read_pools() {
    std::vector<std::string> ratios;
    if (!read_list("pools", ratios)) return;
    const std::vector<std::string> names = pool_names();
    table_.expect("pools", !names.empty(), "is for scenarios with [pool.NAME] tables");
    std::vector<std::string> parts;
    for (const std::string& name : names) parts.push_back("pool." + name + ".replicas");
    for (const std::string& ratio : ratios) {
      const auto colons = static_cast<std::size_t>(std::ranges::count(ratio, ':'));
      const bool is_fine = colons + 1 == std::max<std::size_t>(names.size(), 1) && is_ratio(ratio);
      table_.expect(
          "pools", is_fine,
          fmt::format("'{}' must be the replicas of {}, at least 1 each, with ':' between "
                      "them",
                      ratio, fmt::join(names, " and ")));
    }
    add_axis("pools", fmt::format("{}", fmt::join(names, ":")), std::move(ratios),
             table_.find("pools"), std::move(parts));
  }

  static std::string problem_of(const std::string& path, const std::vector<std::string>& values) {
    if (path == "deployment.replicas") return "is determined by the plan";
    if (path == "cluster.name") return "is chosen by gpus or clusters";
    for (const char* question : {"workload.", "slo.", "run."}) {
      if (path.starts_with(question))
        return "defines the question and cannot vary; set it in the scenario";
    }
    const bool is_twice = std::set(values.begin(), values.end()).size() != values.size();
    return is_twice ? "names a value twice" : "";
  }

  /// A list at any depth below [plan.vary] is an axis; the way there is its key.
  void read_vary(const Value& table, const std::string& prefix) {
    for (const auto& [key, value] : std::get<ValueObject>(table.data)) {
      const std::string path = prefix + key;
      if (value.is_object()) {
        read_vary(value, path + ".");
        continue;
      }
      const auto* list = std::get_if<ValueArray>(&value.data);
      const bool is_plain = list != nullptr && !list->empty() &&
                            std::ranges::none_of(*list, [](const Value& element) {
                              return element.is_array() || element.is_object();
                            });
      if (!is_plain || path.find('.') == std::string::npos) {
        table_.diagnostics().add(
            value.position, fmt::format("plan.vary.{}: must be a list of values under the table of "
                                        "its key, as [plan.vary.engine] batch_tokens_max = "
                                        "[2048, 8192]",
                                        path));
        continue;
      }
      std::vector<std::string> values;
      for (const Value& element : *list)
        values.push_back(seen_from_here(assignment_text(element), value.position));
      const std::string problem = problem_of(path, values);
      if (!problem.empty()) {
        table_.diagnostics().add(value.position, fmt::format("plan.vary.{}: {}", path, problem));
        continue;
      }
      // "decode tensor_parallel" of pool.decode.tensor_parallel.
      std::string label = path.substr(path.find('.') + 1);
      std::ranges::replace(label, '.', ' ');
      add_axis(path, std::move(label), std::move(values), &value);
    }
  }

  void read_prices() {
    const Value* prices = table_.find_table("prices");
    if (prices == nullptr) return;
    TableReader table(*prices, table_.diagnostics(), "plan.prices");
    for (const auto& [gpu, value] : std::get<ValueObject>(prices->data)) {
      DollarsPerHour price;
      if (!table.read(gpu, price)) continue;
      table.expect(gpu, price.value() > 0, "must be above 0");
      const std::vector<std::string> called = gpus_called(gpu);
      settings_.prices.push_back(
          {called.size() == 1 ? called.front() : gpu, price, table.position(gpu)});
    }
  }

  void read_latency() {
    if (!table_.read("latency", settings_.latency)) return;
    std::vector<std::string> names;
    for (const Figure& figure : figures()) {
      if (figure.kind != FigureKind::time || !is_planned(figure)) continue;
      names.emplace_back(figure.name.substr(0, figure.name.size() - 3));  // without _ms
    }
    if (std::ranges::find(names, settings_.latency) != names.end()) return;
    table_.fail("latency",
                unknown_name_message("latency", settings_.latency, {names.begin(), names.end()}));
  }

  void read_replications() {
    std::vector<int> counts;
    if (!table_.read("replications", counts)) return;
    const bool is_fine = counts.size() == 2 && counts[0] >= 1 && counts[1] >= counts[0];
    table_.expect("replications", is_fine, "must be minimum and maximum, as [2, 5]");
    if (is_fine) settings_.replications = {counts[0], counts[1]};
  }

  const Value& root_;
  TableReader table_;
  PlanSettings settings_;
};

}  // namespace

PlanSettings read_plan_settings(const Value& root) {
  Diagnostics diagnostics;
  Value absent;
  absent.position = root.position;
  const Value* plan = root.find("plan");
  if (plan != nullptr && !plan->is_object()) {
    throw ConfigError(plan->position, "plan: must be a table");
  }
  SettingsReader reader(root, plan != nullptr ? *plan : absent, diagnostics);
  PlanSettings settings = reader.read();
  diagnostics.throw_if_any();
  return settings;
}

std::vector<KeyTable> plan_key_tables() {
  const auto list = [](const char* key, const char* type, const char* fallback,
                       const char* meaning) -> KeyNote {
    return {.name = key, .type = type, .fallback = fallback, .meaning = meaning};
  };
  std::vector<KeyNote> notes = {
      list("gpus", "list of strings", "the scenario's cluster",
           "GPUs to choose from, by name; as many nodes of each as the replicas need."),
      list("clusters", "list of strings", "the scenario's cluster",
           "Clusters of fixed size to choose from, by name or path; instead of gpus.")};
  for (const ListedChoice& choice : layout_choices)
    notes.push_back(list(choice.key, "list of integers", "the scenario's", choice.meaning));
  notes.push_back(list("pools", "list of strings", "the scenario's",
                       "Ratios of pools to try, such as \"1:3\": replicas of each pool in one set, "
                       "in the order of the file."));
  for (const ListedChoice& choice : name_choices)
    notes.push_back(list(choice.key, "list of strings", "the scenario's", choice.meaning));
  notes.push_back(list("vary", "table of lists", "not set",
                       "Any other keys to vary: [plan.vary.engine] batch_tokens_max = [2048, "
                       "8192]."));
  for (KeyNote& note : plan_keys().notes()) notes.push_back(std::move(note));
  notes.push_back({.name = "prices",
                   .type = "table of prices",
                   .unit = "2.50 USD/h",
                   .fallback = "those of the GPUs' files",
                   .allowed = "above 0",
                   .meaning = "Price of a GPU-hour by the GPU's name."});
  notes.push_back({.name = "latency",
                   .type = "string",
                   .fallback = "\"e2e_p50\"",
                   .meaning = "Latency to trade off against cost in the Pareto front, such as "
                              "\"ttft_p99\"."});
  notes.push_back({.name = "replications",
                   .type = "list of two integers",
                   .fallback = "[2, 5]",
                   .allowed = "1 or more, ascending",
                   .meaning = "Minimum and maximum number of seeds used to decide whether a "
                              "deployment meets the SLO."});
  return {{"plan", "", "What `foretoken plan` may choose from, and how thoroughly it searches.",
           std::move(notes)}};
}

}  // namespace foretoken
