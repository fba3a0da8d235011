// The part of a page that tells pools apart. Internal to sim/report.
#pragma once

#include "sim/report/page.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

/// A row a pool: what it is, how busy it was, what it costs. No columns where all replicas are
/// equal.
std::vector<PageColumn> pool_columns(const Report& report);
/// Them in a section of their own, if there are any.
void add_pools(ReportPage& page, const Report& report);

}  // namespace foretoken
