// Unequal tasks in more CTAs than fit on the GPU: each goes to the slot that falls free first
// (slot_calendar.hpp), and what every SM gets is summed up. Internal to the scheduler.
#pragma once

#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {

/// The first CTAs fill the SMs in turn, layer by layer; every other one goes where one retires.
/// `sms`: empty, `resident` CTAs at once on each.
void refill_on_retirement(const Launch& launch, const GpuSpec& gpu, int resident,
                          std::vector<SmLoad>& sms);

}  // namespace foretoken
