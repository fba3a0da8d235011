#include "sim/scenario/tables/drafts.hpp"

#include <algorithm>

#include "sim/scenario/measured_acceptance.hpp"

namespace foretoken {

void read_acceptance(TableReader& table, SpeculativeSettings& settings) {
  const Value* given = table.find("acceptance");
  const int drafts = std::clamp(settings.drafts, 0, drafts_limit);
  if (drafts == 0) return;  // nothing to accept
  if (given == nullptr) {
    table.fail("acceptance",
               "is missing: the probability that a drafted token is accepted, given that those "
               "before it were, as one number or one for each draft (0.6 to 0.9 are usual)");
    return;
  }
  if (given->is_string()) {
    settings.text = std::get<std::string>(given->data);
    return;
  }
  if (given->is_array()) {
    if (!table.read("acceptance", settings.acceptance)) return;
    const auto values = static_cast<int>(settings.acceptance.size());
    table.expect("acceptance", values == drafts,
                 fmt::format("has {} probabilit{} for {} draft{}; give one for each draft, or one "
                             "number for all",
                             values, values == 1 ? "y" : "ies", drafts, drafts == 1 ? "" : "s"));
  } else {
    double all = 0;
    if (!table.read("acceptance", all)) return;
    settings.acceptance.assign(static_cast<std::size_t>(drafts), all);
  }
  for (const double probability : settings.acceptance) {
    table.expect("acceptance", probability >= 0 && probability <= 1,
                 fmt::format("is a probability, from 0 to 1, not {}", probability));
  }
}

void look_up_acceptance(TableReader& table, const Scenario& scenario,
                        SpeculativeSettings& settings) {
  if (settings.text.empty() || scenario.model.layers == 0) return;
  const MeasuredAcceptance* measured =
      find_measured_acceptance(scenario.model.name, settings.method, settings.text);
  if (measured == nullptr) {
    std::vector<std::string> known;
    for (const MeasuredAcceptance& other : measured_acceptances())
      known.push_back(
          fmt::format("{} {} \"{}\"", other.model, enum_name(other.method), other.text));
    table.fail(
        "acceptance",
        fmt::format("was not measured for {} with method \"{}\" on \"{}\"; give numbers (0.6 "
                    "to 0.9 are usual). Known: {}",
                    scenario.model.name, enum_name(settings.method), settings.text,
                    fmt::join(known, ", ")));
    return;
  }
  const auto count = static_cast<int>(measured->by_position.size());
  table.expect("drafts", settings.drafts <= count,
               fmt::format("= {} goes beyond the {} that acceptance was measured for; give "
                           "acceptance as numbers",
                           settings.drafts, count));
  settings.acceptance = measured->by_position;
  settings.acceptance.resize(static_cast<std::size_t>(std::min(settings.drafts, count)));
}

void read_drafts_by_batch(TableReader& table, SpeculativeSettings& settings) {
  const Value* given = table.find("drafts_by_batch");
  if (given == nullptr) return;
  const auto* list = std::get_if<ValueArray>(&given->data);
  bool is_right = list != nullptr;
  for (std::size_t i = 0; is_right && i < list->size(); ++i) {
    const auto* pair = std::get_if<ValueArray>(&(*list)[i].data);
    if (pair == nullptr || pair->size() != 2) {
      is_right = false;
      break;
    }
    const auto* from = std::get_if<std::int64_t>(&(*pair)[0].data);
    const auto* drafts = std::get_if<std::int64_t>(&(*pair)[1].data);
    is_right = from != nullptr && drafts != nullptr && *from >= 1 && *drafts >= 0 &&
               *from <= 1'000'000 && *drafts <= settings.drafts &&
               (settings.drafts_by_batch.empty() || *from > settings.drafts_by_batch.back().first);
    if (is_right)
      settings.drafts_by_batch.emplace_back(static_cast<int>(*from), static_cast<int>(*drafts));
  }
  if (!is_right) {
    table.fail("drafts_by_batch",
               fmt::format("must be pairs of sequences (ascending, from 1 on) and drafts (0 to "
                           "drafts = {}), for example [[16, 2], [64, 0]]",
                           settings.drafts),
               Mistake::slip);
  }
}

std::optional<Value> drafts_by_batch_value(const SpeculativeSettings& settings) {
  if (settings.drafts_by_batch.empty()) return std::nullopt;
  ValueArray list;
  for (const auto& [from, drafts] : settings.drafts_by_batch)
    list.emplace_back(ValueArray{Value(from), Value(drafts)});
  return list;
}

}  // namespace foretoken
