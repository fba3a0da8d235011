#include "calibration/tune/traffic_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/base/json.hpp"
#include "workloads/requests/text_lines.hpp"

namespace foretoken::tune {
namespace {

const ValueArray& list_in(const Value& of, std::string_view key, const SourcePosition& position) {
  const Value* found = of.is_object() ? of.find(key) : nullptr;
  if (found != nullptr && found->is_array()) return std::get<ValueArray>(found->data);
  throw ConfigError(position, fmt::format("has no list '{}': write it with `foretoken simulate "
                                          "--steps`",
                                          key));
}

std::pair<std::int64_t, std::int64_t> pair_in(const Value& entry, const SourcePosition& position) {
  const auto* const pair = std::get_if<ValueArray>(&entry.data);
  const auto number = [&](std::size_t i) {
    const auto* whole = std::get_if<std::int64_t>(&(*pair)[i].data);
    return whole == nullptr ? std::int64_t{0} : *whole;
  };
  constexpr std::int64_t most = 1 << 30;
  if (pair == nullptr || pair->size() != 2 || number(0) < 1 || number(1) < 1 || number(0) > most ||
      number(1) > most) {
    throw ConfigError(position, "a batch's entries are pairs of whole numbers of at least 1");
  }
  return {number(0), number(1)};
}

template <class Number>
Number number_in(const Value& step, std::string_view key) {
  const Value* found = step.find(key);
  const auto* number = found == nullptr ? nullptr : std::get_if<Number>(&found->data);
  return number == nullptr ? Number{} : *number;
}

TrafficStep read_step(const Value& step, const SourcePosition& position) {
  TrafficStep result;
  for (const Value& entry : list_in(step, "prefill", position)) {
    result.tokens += pair_in(entry, position).first;
    ++result.logit_rows;
  }
  std::int64_t decodes = 0;
  for (const Value& entry : list_in(step, "decode", position)) {
    decodes += pair_in(entry, position).second;
  }
  result.tokens += decodes;
  result.logit_rows += decodes;
  result.decodes = static_cast<double>(decodes);
  result.replica = number_in<std::int64_t>(step, "replica");
  result.seconds = number_in<double>(step, "duration_s");
  return result;
}

/// Of each step, the answers that wait for it.
void weigh_by_waiting(std::vector<TrafficStep>& steps) {
  struct Replica {
    double before = 0;                  // decoded in the last step that decoded
    std::vector<TrafficStep*> prompts;  // steps since then
  };
  std::map<std::int64_t, Replica> replicas;
  for (TrafficStep& step : steps) {
    Replica& replica = replicas[step.replica];
    step.weight = step.decodes;
    if (step.decodes == 0) {
      replica.prompts.push_back(&step);
      continue;
    }
    for (TrafficStep* prompt : replica.prompts) {
      prompt->weight = std::min(replica.before, step.decodes);
    }
    replica = {step.decodes, {}};
  }
}

}  // namespace

std::vector<TrafficStep> read_traffic_steps(const std::string& path, Objective objective) {
  std::vector<TrafficStep> steps;
  TextLines lines(path);
  std::string_view line;
  while (lines.next(line)) {
    if (line.empty()) continue;
    const SourcePosition position{path, lines.number(), 0};
    const Value value = parse_json(std::string(line), position);
    const TrafficStep step = read_step(value, position);
    if (step.tokens > 0 && number_in<std::int64_t>(value, "stage") == 0) steps.push_back(step);
  }
  if (steps.empty()) throw ConfigError({path, 0, 0}, "holds no step");
  if (objective == Objective::cost) return steps;
  weigh_by_waiting(steps);
  if (std::ranges::all_of(steps, [](const TrafficStep& step) { return step.decodes == 0; })) {
    throw ConfigError({path, 0, 0}, "decodes nothing, so there is no TPOT: use --objective cost");
  }
  return steps;
}

}  // namespace foretoken::tune
