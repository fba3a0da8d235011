#include "sim/report/page_pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace foretoken {

std::vector<PageColumn> pool_columns(const Report& report) {
  const std::vector<Report::Pool>& pools = report.pools;
  if (pools.empty()) return {};
  const auto texts = [&](const char* name, const auto& text_of) {
    std::vector<std::string> cells;
    for (const Report::Pool& pool : pools) cells.push_back(text_of(pool));
    return PageColumn::of_texts(name, std::move(cells));
  };
  const auto numbers = [&](const char* name, const char* unit, int decimals,
                           const auto& number_of) {
    std::vector<double> cells;
    for (const Report::Pool& pool : pools) cells.push_back(number_of(pool));
    return PageColumn::of_numbers(name, unit, decimals, std::move(cells));
  };
  using Pool = const Report::Pool&;
  std::vector<PageColumn> columns = {
      texts("pool", [](Pool pool) { return pool.name; }),
      texts("role", [](Pool pool) { return pool.role; }),
      texts("GPUs", [](Pool pool) { return fmt::format("{} x {}", pool.gpus, pool.gpu); }),
      numbers("replicas", "", 0, [](Pool pool) { return pool.replicas; }),
      numbers("busy", "%", 1, [](Pool pool) { return 100 * pool.gpu_busy; }),
      numbers("batch mean", "", 1, [](Pool pool) { return pool.batch_mean; }),
      numbers("batch max", "", 0, [](Pool pool) { return static_cast<double>(pool.batch_max); }),
      numbers("KV peak", "%", 1, [](Pool pool) { return 100 * pool.kv_peak; }),
      numbers("KV mean", "%", 1, [](Pool pool) { return 100 * pool.kv_mean; })};
  if (std::ranges::any_of(pools, [](Pool pool) { return pool.cost_per_hour.has_value(); }))
    columns.push_back(numbers("cost", "$/h", 2, [](Pool pool) {
      return pool.cost_per_hour.value_or(std::numeric_limits<double>::quiet_NaN());
    }));
  put_costs_first(columns);
  return columns;
}

void add_pools(ReportPage& page, const Report& report) {
  const std::vector<PageColumn> columns = pool_columns(report);
  if (columns.empty()) return;
  page.section("Pools", "Replicas of several kinds, and how busy each kind was.");
  page.table("pool", columns);
}

}  // namespace foretoken
