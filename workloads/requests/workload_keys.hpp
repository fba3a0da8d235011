// Every key of [workload] and of the tables within it, with what it means.
#pragma once

#include <vector>

#include "sim/base/keys.hpp"

namespace foretoken {

/// [workload] first; the keys of an arrival process or distribution are tables with a condition.
/// "workload.TOKENS" and "workload.TIME" stand for any key that takes a distribution of lengths or
/// of times.
std::vector<KeyTable> workload_key_tables();

}  // namespace foretoken
