#include "calibration/evaluate/floor_rows.hpp"

#include <fmt/format.h>

#include "kernels/estimators/estimator.hpp"

namespace foretoken {

void FloorRows::add(const Sample& sample, const GpuSpec& gpu) {
  const EstimatorFamily* family = family_of(sample.kernel, gpu);
  const std::string name(family != nullptr ? family->name() : kernel_name(sample.kernel));
  Count& count = counts_[{name, sample.gpu}];
  ++count.rows;
  const Roof least = least_time(sample.kernel, gpu);
  if (!(sample.time < least.time)) return;
  ++count.below;
  const double ratio = sample.time / least.time;
  if (ratio >= count.lowest) return;
  count.lowest = ratio;
  count.lowest_bound = least.bound_by;
  count.lowest_case = fmt::format("{}, {}", sample.layout, sample.source_name);
}

std::string FloorRows::text() const {
  std::string text = fmt::format("{:<26}{:<12}{:>9}{:>9}{:>9}  {}\n", "family", "GPU", "rows",
                                 "below", "lowest", "bound by; whose");
  std::int64_t rows = 0, below = 0;
  for (const auto& [where, count] : counts_) {
    rows += count.rows;
    below += count.below;
    if (count.below == 0) continue;
    text += fmt::format("{:<26}{:<12}{:>9}{:>9}{:>9.2f}  {}; {}\n", where.first, where.second,
                        count.rows, count.below, count.lowest, enum_name(count.lowest_bound),
                        count.lowest_case);
  }
  return text +
         fmt::format(
             "{} of {} rows are faster than physics allows ({:.2f} %)\n", below, rows,
             rows > 0 ? 100.0 * static_cast<double>(below) / static_cast<double>(rows) : 0.0);
}

}  // namespace foretoken
