#include "sim/planner/sweep/sweep_plan.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

// More would be a slip of the keyboard: a day has 86,400 seconds.
constexpr std::size_t sweep_runs_max = 1'000'000;

std::string source_of(std::string_view text) { return fmt::format("--vary {}", text); }

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// At commas that stand in no quotes, brackets or braces.
std::vector<std::string> values_of(std::string_view text) {
  std::vector<std::string> values;
  std::size_t start = 0;
  int depth = 0;
  char quote = '\0';
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (quote != '\0' && i < text.size()) {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && (depth <= 0 || i == text.size())) {
      values.emplace_back(trimmed(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  return values;
}

std::vector<SweepPoint> all_combinations(const std::vector<VariedKey>& keys) {
  std::vector<SweepPoint> points = {SweepPoint{}};
  for (const VariedKey& key : keys) {
    std::vector<SweepPoint> longer;
    if (points.size() * key.values.size() > sweep_runs_max) {
      throw ConfigError({source_of(key.key)},
                        fmt::format("makes more than {} runs; vary fewer values", sweep_runs_max));
    }
    for (const SweepPoint& point : points) {
      for (const std::string& value : key.values) {
        longer.push_back(point);
        longer.back().values.push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::vector<SweepPoint> side_by_side(const std::vector<VariedKey>& keys) {
  std::vector<SweepPoint> points(keys.empty() ? 1 : keys.front().values.size());
  for (const VariedKey& key : keys) {
    if (key.values.size() != points.size()) {
      throw ConfigError(
          {source_of(key.key)},
          fmt::format("has {} but {} has {}; --zip pairs them, so the numbers must match",
                      counted(static_cast<std::int64_t>(key.values.size()), "value"),
                      keys.front().key, points.size()));
    }
    for (std::size_t i = 0; i < points.size(); ++i) points[i].values.push_back(key.values[i]);
  }
  return points;
}

void check_keys(const std::vector<VariedKey>& keys, bool has_seeds) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string& key = keys[i].key;
    if (has_seeds && key == "run.seed")
      throw ConfigError({source_of(key)},
                        "conflicts with --seeds, which sets run.seed too; remove one");
    for (std::size_t k = 0; k < i; ++k) {
      if (keys[k].key == key)
        throw ConfigError({source_of(key)}, "is given twice; list all its values in one --vary");
    }
  }
}

/// What a ConfigError says about the value that `key` was set to, nullptr if nothing.
const Diagnostic* diagnostic_about(const ConfigError& error, const std::string& key) {
  const std::string place = fmt::format("--set {}=", key);
  const auto found = std::ranges::find_if(error.diagnostics(), [&](const Diagnostic& diagnostic) {
    return diagnostic.position.file.starts_with(place);
  });
  return found == error.diagnostics().end() ? nullptr : &*found;
}

/// Values that are wrong wherever they stand: of the wrong type, without their unit.
class ValueSlips {
 public:
  explicit ValueSlips(const std::vector<VariedKey>& keys) : keys_(keys), known_(keys.size()) {}

  /// Whether nothing more is to be learned of its values.
  [[nodiscard]] bool know(const SweepPoint& point) const {
    for (std::size_t i = 0; i < keys_.size(); ++i)
      if (!known_[i].contains(point.values[i])) return false;
    return true;
  }
  void accept(const SweepPoint& point) {
    for (std::size_t i = 0; i < keys_.size(); ++i) known_[i].insert(point.values[i]);
  }
  void refuse(const SweepPoint& point, const ConfigError& error) {
    bool any = false;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const Diagnostic* diagnostic = diagnostic_about(error, keys_[i].key);
      if (diagnostic == nullptr || diagnostic->mistake != Mistake::slip) continue;
      any = true;
      known_[i].insert(point.values[i]);
      // An unknown key is that with each of its values.
      if (told_.emplace(i, diagnostic->message).second)
        slips_.add({source_of(keys_[i].key)}, diagnostic->message, Mistake::slip);
    }
    if (!any) accept(point);  // all could be read
  }
  void throw_if_any() const { slips_.throw_if_any(); }

 private:
  const std::vector<VariedKey>& keys_;
  std::vector<std::set<std::string>> known_;  // of each key
  std::set<std::pair<std::size_t, std::string>> told_;
  Diagnostics slips_;
};

}  // namespace

VariedKey read_varied_key(std::string_view text) {
  const auto equals = text.find('=');
  VariedKey key{std::string(trimmed(text.substr(0, equals))), {}};
  if (equals == std::string_view::npos || key.key.empty()) {
    throw ConfigError({source_of(text)},
                      "expected table.key=value,value, for example workload.rate=4 /s,8 /s");
  }
  key.values = values_of(text.substr(equals + 1));
  for (std::size_t i = 0; i < key.values.size(); ++i) {
    const std::string& value = key.values[i];
    if (value.empty())
      throw ConfigError({source_of(text)},
                        "has an empty value; check for a doubled or trailing comma");
    if (std::find(key.values.begin(), key.values.begin() + static_cast<std::ptrdiff_t>(i), value) !=
        key.values.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw ConfigError({source_of(text)}, fmt::format("lists the value {} twice", value));
    }
  }
  return key;
}

std::optional<std::uint64_t> SweepPlan::seed_of(std::size_t run) const {
  if (seeds.empty()) return std::nullopt;
  return seeds[run % seeds.size()];
}

RunRequest SweepPlan::request(std::size_t run) const {
  RunRequest request;
  const SweepPoint& point = points[point_of(run)];
  for (std::size_t i = 0; i < keys.size(); ++i)
    request.changes.push_back(Change::parse(keys[i].key + "=" + point.values[i]));
  if (const auto seed = seed_of(run))
    request.changes.emplace_back("run.seed", static_cast<std::int64_t>(*seed));
  return request;
}

std::vector<RunRequest> SweepPlan::requests() const {
  std::vector<RunRequest> requests;
  for (std::size_t run = 0; run < runs(); ++run) requests.push_back(request(run));
  return requests;
}

SweepPlan plan_sweep(std::vector<VariedKey> keys, Combination combination, std::size_t seeds,
                     std::uint64_t first_seed) {
  if (keys.empty() && seeds == 0)
    throw ConfigError(
        {"--vary"}, "is missing; give keys and values, such as --vary \"workload.rate=4 /s,8 /s\"");
  check_keys(keys, seeds > 0);
  SweepPlan plan;
  plan.points = combination == Combination::zipped ? side_by_side(keys) : all_combinations(keys);
  plan.keys = std::move(keys);
  if (plan.points.size() > sweep_runs_max / std::max<std::size_t>(1, seeds)) {
    throw ConfigError({"--seeds"},
                      fmt::format("makes more than {} runs; use fewer seeds", sweep_runs_max));
  }
  plan.seeds.resize(seeds);
  std::iota(plan.seeds.begin(), plan.seeds.end(), first_seed);
  return plan;
}

void check_sweep(const SweepPlan& plan, const RunCheck& check) {
  std::vector<std::string> complaints(plan.keys.size());  // "": nothing against the key
  std::optional<ConfigError> first;
  bool all_alike = true,
       is_settled = false;  // some run can be, or each is refused for its own reason
  ValueSlips slips(plan.keys);
  for (std::size_t point = 0; point < plan.points.size(); ++point) {
    if (is_settled && slips.know(plan.points[point])) continue;
    try {
      check(plan.request(point * plan.seeds_a_point()));
      slips.accept(plan.points[point]);
      is_settled = true;
    } catch (const ConfigError& error) {
      slips.refuse(plan.points[point], error);
      if (is_settled) continue;
      all_alike = all_alike && (!first || std::string(first->what()) == error.what());
      for (std::size_t i = 0; i < plan.keys.size(); ++i) {
        const Diagnostic* diagnostic = diagnostic_about(error, plan.keys[i].key);
        const std::string complaint = diagnostic == nullptr ? "" : diagnostic->message;
        if (!first) {
          complaints[i] = complaint;
        } else if (complaints[i] != complaint) {
          complaints[i].clear();
        }
      }
      if (!first) first = error;
    }
    const bool any =
        std::ranges::any_of(complaints, [](const auto& text) { return !text.empty(); });
    is_settled = is_settled || (!any && !all_alike);
  }
  slips.throw_if_any();
  if (is_settled) return;
  Diagnostics mistakes;
  for (std::size_t i = 0; i < plan.keys.size(); ++i) {
    if (!complaints[i].empty()) mistakes.add({source_of(plan.keys[i].key)}, complaints[i]);
  }
  mistakes.throw_if_any();
  if (first) throw *first;
}

}  // namespace foretoken
