// What Foretoken reads of traffic without its requests.
#include "workloads/requests/statistics_format.hpp"

namespace foretoken {

std::unique_ptr<StatisticsFormat> prometheus_statistics();
std::unique_ptr<StatisticsFormat> servegen_statistics();

StatisticsRegistry statistics_registry() {
  StatisticsRegistry registry("traffic format");
  registry.add("prometheus",
               "metrics of vLLM or SGLang: pages of /metrics, or Prometheus' answer to a query",
               prometheus_statistics);
  registry.add("servegen", "clients of ServeGen: NAME-trace.csv and NAME-dataset.json of each",
               servegen_statistics);
  return registry;
}

}  // namespace foretoken
