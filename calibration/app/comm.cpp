// evaluate --comm and fit --comm: measured communication as a predictor.
#include "calibration/app/comm.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <map>

#include "calibration/evaluate/engine_rows.hpp"
#include "calibration/fit/all_reduce_fit.hpp"
#include "calibration/fit/comm_fit.hpp"
#include "calibration/fit/fabric_fit.hpp"
#include "calibration/fit/judge_comm.hpp"
#include "calibration/fit/judge_engines.hpp"
#include "calibration/say.hpp"
#include "sim/base/json.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

/// Which rows a database was made from, and by what.
Value provenance_of(const std::vector<CommRow>& rows) {
  std::map<std::string, std::int64_t> by_origin;
  for (const CommRow& row : rows) ++by_origin[row.origin];
  Value origins;
  for (const auto& [origin, count] : by_origin) origins.set(origin, count);
  return ValueObject{{"command", "foretoken-calibrate fit --comm"},
                     {"rows", std::move(origins)},
                     {"sources",
                      "aiconfigurator: ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0); vidur: "
                      "microsoft/vidur 7d475133 (MIT); foretoken: calibration/datasets"}};
}

void write_fabrics(const FabricConstants& constants, const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& [gpu, parameters] : constants) {
    for (const auto& [costs, side] :
         {std::pair(&parameters.inside, ""), std::pair(&parameters.across, "-network")}) {
      const std::string path =
          (std::filesystem::path(folder) / fmt::format("{}{}.toml", gpu, side)).string();
      write_file(path, to_toml(fabric_table(*costs)));
      say("constants of {} ({}) -> {}\n", gpu, costs->name, path);
    }
  }
}

void write_all_reduce(const std::vector<EngineRow>& rows, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const AllReduceChoices fitted = fit_all_reduce(AllReduceChoices::built_in(), rows);
  for (const Framework engine : {Framework::vllm, Framework::sglang, Framework::trtllm}) {
    const std::string path =
        (std::filesystem::path(folder) / fmt::format("{}.toml", enum_name(engine))).string();
    write_file(path, all_reduce_toml(engine, fitted.choices()));
    say("all-reduces of {} -> {}\n", enum_name(engine), path);
  }
}

std::vector<CommSplit> splits_of(const std::string& name) {
  if (name == "all") return {CommSplit::sizes, CommSplit::ranks, CommSplit::nodes, CommSplit::gpu};
  if (const auto split = parse_enum<CommSplit>(name)) return {*split};
  const auto& names = EnumNames<CommSplit>::names;
  std::vector<std::string_view> known(names.begin(), names.end());
  known.insert(known.end(), {"all", "shipped"});
  throw ConfigError({"--split"}, unknown_name_message("split of communication", name, known));
}

}  // namespace

CommDataset load_comm_dataset(const DatasetOptions& options) {
  if (options.data.empty() && options.own.empty()) {
    throw ConfigError({"--data"},
                      "no measurements given; name a folder with --data (or FORETOKEN_DATA) or "
                      "--own");
  }
  CommDataset dataset;
  if (!options.data.empty()) dataset = load_comm_data(options.data);
  if (!options.own.empty()) {
    CommDataset own = load_own_comm(options.own);
    std::ranges::move(own.samples, std::back_inserter(dataset.samples));
    for (const auto& [reason, rows] : own.left_out) dataset.left_out[reason] += rows;
  }
  if (dataset.samples.empty()) {
    throw ConfigError({options.own},
                      "has no measured communication; foretoken-measure-comm "
                      "writes comm.csv");
  }
  for (const auto& [reason, rows] : dataset.left_out) tell("{} rows excluded: {}\n", rows, reason);
  return dataset;
}

int evaluate_comm(const EvaluateComm& command) {
  const CommDataset dataset = load_comm_dataset(command.datasets);
  const std::vector<CommRow> rows = comm_rows(dataset.samples);
  CommReport report;
  if (command.split == "shipped") {
    judge_shipped(rows, report);
  } else {
    for (const CommSplit split : splits_of(command.split))
      judge_communication(rows, split, command.forest, report);
  }
  const EngineReport engines =
      judge_engines(engine_rows(dataset.samples, AllReduceChoices::built_in()));
  say("{}\n{}", report.text(), engines.text());
  if (command.json.empty()) return 0;
  Value json = report.json();
  json.set("engines", engines.json());
  write_file(command.json, to_json(json) + "\n");
  return 0;
}

int fit_comm(const FitComm& command) {
  const CommDataset dataset = load_comm_dataset(command.datasets);
  std::vector<CommRow> rows = comm_rows(dataset.samples);
  std::erase_if(rows, only_judges);
  if (!command.all_reduce.empty()) {
    write_all_reduce(engine_rows(dataset.samples, AllReduceChoices::built_in()),
                     command.all_reduce);
  }
  CommReport report;
  judge_communication(rows, CommSplit::sizes, command.forest, report);
  const double error = report.forest().mape;
  const MeasuredCommunication fitted = fit_communication(rows, command.forest, error);
  Value artifact = fitted.to_value();
  artifact.set("made_from", provenance_of(rows));
  write_file(command.out, to_json(artifact, 1) + "\n");
  if (!command.fabrics.empty()) write_fabrics(fit_fabrics(rows), command.fabrics);
  say("{} rows, {} fabrics, {} trees, error on held-out sizes {:.1f} % -> {}\n", rows.size(),
      fitted.fabrics().size(), fitted.correction().trees().size(), 100 * error, command.out);
  return 0;
}

}  // namespace foretoken
