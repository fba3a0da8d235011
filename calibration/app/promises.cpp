#include "calibration/app/promises.hpp"

#include <fmt/format.h>

#include <cmath>

#include "calibration/evaluate/promise_report.hpp"
#include "calibration/say.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {
namespace {

void add_launches(const FamilyTable& table, const Rows& rows, const Predictor& predictor,
                  std::vector<PromisedLaunch>& launches) {
  for (const std::size_t row : rows) {
    const FamilyRow& data = table.rows[row];
    const GpuSpec& gpu = table.specs[static_cast<std::size_t>(data.gpu)];
    const Kernel& kernel = table.kernels[row];
    Prediction price;
    try {
      price = predictor.predict(kernel, gpu);
    } catch (const PredictionError&) {
      continue;
    }
    if (price.origin != Origin::learned) continue;
    launches.push_back({error_cell(table.family->name(), kernel, gpu, price.time),
                        std::abs(price.time.value() / data.measured - 1), price.expected_error,
                        data.layout});
  }
}

}  // namespace

int evaluate_promises(const EvaluatePromises& command, const ColumnSettings& settings) {
  const std::shared_ptr<const Predictor> predictor = shipped_predictor("synperf", settings);
  std::vector<PromisedLaunch> launches;
  for (const FamilyTable& table : command.tables) {
    const RowChoice learned = settings.training("synperf", *table.family).rows;
    for (const Fold& fold : folds_of(table, Split::seen, learned)) {
      add_launches(table, thinned(fold.judged, command.rows_max), *predictor, launches);
    }
  }
  const PromiseReport report(launches);
  say("{}", report.text());
  if (command.json.empty()) return 0;
  const PriceErrors errors(report.entries());
  write_file(command.json,
             to_json(errors.json("foretoken-calibrate evaluate --promises --json FILE")) + "\n");
  return 0;
}

}  // namespace foretoken
