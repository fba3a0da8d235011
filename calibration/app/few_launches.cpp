#include "calibration/app/few_launches.hpp"

#include <algorithm>

#include "calibration/app/family_trainer.hpp"
#include "calibration/fit/adapt.hpp"
#include "calibration/fit/informative_rows.hpp"
#include "sim/base/random.hpp"

namespace foretoken {
namespace {

Rows drawn(Rows rows, std::size_t count, std::uint64_t seed) {
  RandomStream stream = RandomStreams(seed).stream("launches");
  for (std::size_t i = 0; i < count; ++i) {
    const double left = static_cast<double>(rows.size() - i);
    std::swap(rows[i], rows[i + static_cast<std::size_t>(uniform(stream) * left)]);
  }
  rows.resize(count);
  return rows;
}

}  // namespace

std::vector<AdaptedPrice> adapted_prices(const FamilyTable& table, const Fold& fold,
                                         const FamilyTraining& training, const FewLaunches& few,
                                         std::size_t rows_max) {
  const Artifact artifact = train_family_or_explain(table, training);
  std::vector<AdaptedPrice> prices;
  for (const std::size_t count : few.counts) {
    if (fold.judged.size() < 2 * count) continue;
    const Rows launches = few.draw == 0 ? informative_rows(table, fold.judged, artifact, count)
                                        : drawn(fold.judged, count, few.draw);
    const FamilyAdaptation adaptation = fit_adaptation(table, launches, artifact);
    Rows others = fold.judged;
    std::erase_if(others, [&launches](std::size_t row) {
      return std::ranges::find(launches, row) != launches.end();
    });
    for (const std::size_t row : thinned(others, rows_max)) {
      prices.push_back({count, row, adapted_time(table, row, artifact, adaptation),
                        predicted_time(table, row, artifact)});
    }
  }
  return prices;
}

}  // namespace foretoken
