// Who this process is to others that use the same store of runs.
#pragma once

#include "sim/planner/run_store.hpp"

namespace foretoken {

/// This process as an owner of leases. Its name says host, process namespace, process and when that
/// began, so that a killed one is told from another that got its number; whoever is in another
/// namespace (a container) is never taken for gone and has until its leases end.
RunOwner this_process(double lease_s);

}  // namespace foretoken
