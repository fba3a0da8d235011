#include "sim/scenario/key_tables.hpp"

#include <algorithm>

#include "sim/scenario/tables.hpp"
#include "workloads/requests/workload_keys.hpp"

namespace foretoken {

const std::vector<KeyTable>& scenario_key_tables() {
  static const std::vector<KeyTable> tables = [] {
    std::vector<KeyTable> out = {
        model_key_table(),    cluster_key_table(), deployment_key_table(), engine_key_table(),
        kv_store_key_table(), lora_key_table(),    encoder_key_table(),    speculative_key_table()};
    const std::vector<KeyTable> workload = workload_key_tables();
    out.insert(out.end(), workload.begin(), workload.end());
    for (KeyTable (*table)() :
         {slo_key_table, slo_classes_key_table, predictor_key_table, front_end_key_table,
          front_end_classes_key_table, front_end_tenants_key_table, startup_key_table,
          autoscaler_key_table, autoscaler_wva_key_table, autoscaler_rates_key_table,
          failures_key_table, pool_key_table, run_key_table}) {
      out.push_back(table());
    }
    return out;
  }();
  return tables;
}

std::string table_of_key(std::string_view key) {
  std::string owner;
  for (const KeyTable& table : scenario_key_tables()) {
    // A pool has the keys of [deployment].
    if (table.name == "pool.NAME" || !table.condition.empty()) continue;
    if (std::ranges::find(table.keys, key, &KeyNote::name) == table.keys.end()) continue;
    if (!owner.empty()) return "";
    owner = "[" + table.name + "]";
  }
  return owner;
}

}  // namespace foretoken
