// foretoken-calibrate doubts: rows of the measurements that contradict both of their neighbours,
// which training leaves out (datasets/doubted_rows.hpp), and how many of all rows are faster than
// physics allows (evaluate/floor_rows.hpp).
#include <fmt/format.h>

#include "calibration/app/subcommand.hpp"
#include "calibration/datasets/doubted_rows.hpp"
#include "calibration/datasets/family_table.hpp"
#include "calibration/evaluate/floor_rows.hpp"
#include "calibration/say.hpp"

namespace foretoken {
namespace {

int doubts(const DatasetOptions& options) {
  GpuSpecs gpus;
  FloorRows floor;
  Dataset dataset = load_datasets(options, [&](const Sample& sample) {
    floor.add(sample, gpus.find(sample.gpu));
    return std::holds_alternative<Gemm>(sample.kernel);
  });
  const std::vector<DoubtedRow> rows = doubt_rows(dataset);
  const auto us = [](Seconds time) { return time.value() * 1e6; };
  say("{:<10} {:<10} {:>7} {:>7} {:>6} {:>9} us  {}\n", "GPU", "dtype", "n", "k", "m", "time",
      "neighbours' m: us; source");
  for (const DoubtedRow& row : rows) {
    const Sample& sample = dataset.samples[row.sample];
    const auto& gemm = std::get<Gemm>(sample.kernel);
    say("{:<10} {:<10} {:>7} {:>7} {:>6} {:>9.1f} us  {}: {:.1f}, {}: {:.1f}; {}\n", sample.gpu,
        enum_name(gemm.dtype), gemm.n, gemm.k, gemm.m, us(sample.time), row.m_before,
        us(row.before), row.m_after, us(row.after), sample.source_name);
  }
  say("{} of {} GEMMs contradict both neighbours and are excluded from training\n", rows.size(),
      dataset.samples.size());
  say("\n{}", floor.text());
  return 0;
}

}  // namespace

void add_doubts(CLI::App& program, Action& chosen) {
  auto* subcommand =
      program.add_subcommand("doubts",
                             "List measured rows that contradict both neighbours (training "
                             "excludes them), and count those faster than physics allows");
  auto options = std::make_shared<DatasetOptions>();
  options->add_to(*subcommand);
  subcommand->callback([options, &chosen] { chosen = [options] { return doubts(*options); }; });
}

}  // namespace foretoken
