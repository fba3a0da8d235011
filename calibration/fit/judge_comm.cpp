#include "calibration/fit/judge_comm.hpp"

#include <functional>

#include "calibration/fit/comm_fit.hpp"
#include "calibration/fit/fabric_fit.hpp"

namespace foretoken {
namespace {

CommReport::Line line_of(const CommFold& fold, const CommRow& row) {
  const CommPoint& point = row.point;
  std::string operation(enum_name(point.op));
  if (point.library == CommLibrary::deepep)
    operation += fmt::format(" {}", enum_name(point.experts.mode));
  if (point.nodes > 1) operation += fmt::format(" {}x{}", point.nodes, point.ranks / point.nodes);
  return {fold.name, fmt::format("{} {}", enum_name(point.library), enum_name(point.launch)),
          operation, row.gpu, std::string(size_band(point.bytes))};
}

/// The constants of the formulas for rows that the database prices as this fabric.
using ConstantsOf = std::function<const CommParameters&(const MeasuredFabric&)>;

void judge(const CommFold& fold, const MeasuredCommunication& database,
           const ConstantsOf& constants, CommReport& report) {
  for (const CommRow& row : fold.judged) {
    const MeasuredFabric* const fabric =
        fold.is_new_gpu ? database.nearest(row.point) : database.find(row.gpu);
    try {
      if (fabric == nullptr) throw PredictionError("measured on no other fabric");
      const Seconds forest = database.time_on(*fabric, row.point);
      const Seconds formula = closed_form(row, constants(*fabric));
      report.add(line_of(fold, row), forest.value(), formula.value(), row.time.value());
    } catch (const PredictionError&) {
      report.count_unpriced(fold.name);
    }
  }
}

}  // namespace

void judge_communication(const std::vector<CommRow>& rows, CommSplit split,
                         const ForestOptions& options, CommReport& report) {
  for (const CommFold& fold : comm_folds(rows, split)) {
    const FabricConstants fitted = fit_fabrics(fold.training);
    judge(
        fold, fit_communication(fold.training, options, 0),
        [&](const MeasuredFabric& fabric) -> const CommParameters& {
          return fitted.at(fabric.name);
        },
        report);
  }
}

void judge_shipped(const std::vector<CommRow>& rows, CommReport& report) {
  MeasuredClusters clusters;
  std::map<std::pair<std::string, std::string>, CommFold> by_cluster;
  for (const CommRow& row : rows) {
    CommFold& fold = by_cluster[{row.gpu, row.cluster}];
    fold.name = "as shipped";
    fold.is_new_gpu = MeasuredCommunication::built_in().find(row.gpu) == nullptr;
    fold.judged.push_back(row);
  }
  for (const auto& [key, fold] : by_cluster) {
    const auto& [gpu, cluster] = key;
    const CommParameters& shipped = clusters.find(gpu, cluster).comm;
    judge(
        fold, MeasuredCommunication::built_in(),
        [&](const MeasuredFabric&) -> const CommParameters& { return shipped; }, report);
  }
}

}  // namespace foretoken
