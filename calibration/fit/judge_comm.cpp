#include "calibration/fit/judge_comm.hpp"

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

}  // namespace

namespace {

void judge(const CommFold& fold, const MeasuredCommunication& database,
           const FabricConstants& constants, CommReport& report) {
  for (const CommRow& row : fold.judged) {
    const MeasuredFabric* const fabric =
        fold.is_new_gpu ? database.nearest(row.point) : database.find(row.gpu);
    try {
      if (fabric == nullptr) throw PredictionError("measured on no other fabric");
      const Seconds forest = database.time_on(*fabric, row.point);
      const Seconds formula = closed_form(row, constants.at(fabric->name));
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
    judge(fold, fit_communication(fold.training, options, 0), fit_fabrics(fold.training), report);
  }
}

void judge_shipped(const std::vector<CommRow>& rows, CommReport& report) {
  MeasuredClusters clusters;
  std::map<std::pair<std::string, std::string>, CommFold> by_cluster;
  for (const CommRow& row : rows) {
    CommFold& fold = by_cluster[{row.gpu, row.cluster}];
    fold.name = "as shipped";
    fold.judged.push_back(row);
  }
  for (const auto& [key, fold] : by_cluster) {
    const auto& [gpu, cluster] = key;
    judge(fold, MeasuredCommunication::built_in(), {{gpu, clusters.find(gpu, cluster).comm}},
          report);
  }
}

}  // namespace foretoken
