// What is said of a latency's distribution, each once with its name.
#pragma once

#include <array>

#include "sim/report/request_group.hpp"

namespace foretoken {

struct LatencyStatistic {
  const char* name;
  double LatencyRow::*member;
};
inline constexpr auto latency_statistics = std::to_array<LatencyStatistic>({
    {"mean", &LatencyRow::mean},
    {"p50", &LatencyRow::p50},
    {"p90", &LatencyRow::p90},
    {"p95", &LatencyRow::p95},
    {"p99", &LatencyRow::p99},
    {"max", &LatencyRow::max},
});

/// For base/members.hpp.
template <class Archive>
void members(Archive& a, LatencyRow& row) {
  for (const auto& [name, member] : latency_statistics) a(name, row.*member);
}

}  // namespace foretoken
