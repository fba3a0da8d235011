#include "workloads/requests/arrival_process.hpp"

namespace foretoken {

PerSecond read_rate(TableReader& table) {
  PerSecond rate(1.0);
  table.require("rate", rate);
  table.expect("rate", rate.value() > 0.0, "must be above 0, for example \"4 /s\"", Mistake::slip);
  table.expect("rate", rate.value() >= 1e-9 && rate.value() <= 1e9,
               "must be from 1e-9 to 1e9 a second", Mistake::slip);
  return rate;
}

void expect_time(TableReader& table, std::string_view key, Seconds time, bool zero_is_fine) {
  if (zero_is_fine) {
    table.expect(key, time.value() >= 0.0, "must not be negative", Mistake::slip);
  } else {
    table.expect(key, time.value() > 0.0, "must be longer than 0 s", Mistake::slip);
  }
  table.expect(key, time.value() <= 1e10, "must be at most 1e10 s (300 years)", Mistake::slip);
}

}  // namespace foretoken
