// What `window`, `rate_scale`, `diurnal` and `part` do to the times of any open traffic, generated
// or recorded, in this order: cut a window out, play it faster, swell and ebb, and of what comes of
// that serve a part: an hour of a day. Closed-loop traffic has no times of its own, so none of them
// applies to it.
#pragma once

#include <memory>
#include <optional>

#include "sim/base/keys.hpp"
#include "workloads/requests/arrival_process.hpp"

namespace foretoken {

/// The part [begin, end) of the traffic; begin becomes time 0.
struct TimeWindow {
  Seconds begin;
  Seconds end;
};

/// A rate that swings as 1 + amplitude cos(2 pi (t - peak) / period) around its mean, which every
/// whole period keeps. Time 0 of the run is the period's beginning (midnight).
struct DiurnalProfile {
  Seconds period = Seconds(86400.0);
  double amplitude = 0.0;  // 0 to 1; at 1 the rate touches 0 in the trough
  Seconds peak;
};

struct TimeTransform {
  std::optional<TimeWindow> window;
  double rate_scale = 1.0;  // 2 doubles the rate: times are halved
  std::optional<DiurnalProfile> diurnal;
  std::optional<TimeWindow> part;  // in the run's time, after all others
};

/// Of [workload].
const Keys<TimeTransform>& time_transform_keys();
KeyTable diurnal_key_table();

/// When an arrival happens that would happen at `even` if the rate did not swing: the t for which
/// the integral of 1 + amplitude cos(...) from 0 to t is `even`.
Seconds diurnal_time(const DiurnalProfile& profile, Seconds even);

/// `times` as transformed.
std::unique_ptr<ArrivalTimes> transformed(std::unique_ptr<ArrivalTimes> times,
                                          const TimeTransform& transform);

}  // namespace foretoken
