// A workload's requests for one of its models alone: the same requests at the same dates as among
// the others', so that what is found out about each model is true of all together.
#pragma once

#include <memory>

#include "workloads/requests/workload.hpp"

namespace foretoken {

/// Of models() the one with this number. A closed loop's users, who would otherwise wait for
/// answers of other models, go on at once.
std::shared_ptr<const Workload> requests_for(std::shared_ptr<const Workload> workload, int model);

}  // namespace foretoken
