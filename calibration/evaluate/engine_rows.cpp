#include "calibration/evaluate/engine_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace foretoken {
namespace {

std::optional<Framework> engine_of(CommLibrary library) {
  return parse_enum<Framework>(enum_name(library));
}

}  // namespace

std::string EngineRow::name() const { return fmt::format("{}-{}", enum_name(engine), since); }

std::vector<EngineRow> engine_rows(std::span<const CommSample> samples,
                                   const AllReduceChoices& choices) {
  MeasuredClusters clusters;
  using Key = std::tuple<std::string, Framework, std::string, int>;
  std::map<Key, std::vector<CommSample>> groups;
  std::map<Key, std::string> fabrics;
  for (const CommSample& sample : samples) {
    const auto engine = engine_of(sample.library);
    if (!engine || sample.launch != CommLaunch::graph || sample.nodes > 1 ||
        sample.op != CollectiveOp::all_reduce)
      continue;
    const std::string& fabric = clusters.find(sample.gpu, sample.cluster).comm.inside.name;
    const AllReduceChoice* choice = choices.find({*engine, sample.version}, fabric, sample.ranks);
    if (choice == nullptr || choice->ranks != sample.ranks) continue;
    const Key key{sample.gpu, *engine, choice->since, sample.ranks};
    groups[key].push_back(sample);
    fabrics[key] = fabric;
  }
  std::vector<EngineRow> rows;
  for (const auto& [key, members] : groups) {
    for (CommRow& row : comm_rows(members))
      rows.push_back({std::move(row), std::get<1>(key), std::get<2>(key), fabrics.at(key)});
  }
  return rows;
}

}  // namespace foretoken
