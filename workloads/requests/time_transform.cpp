#include "workloads/requests/time_transform.hpp"

#include <algorithm>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>
#include <utility>

namespace foretoken {
namespace {

class WindowedTimes final : public ArrivalTimes {
 public:
  WindowedTimes(std::unique_ptr<ArrivalTimes> times, const TimeWindow& window)
      : times_(std::move(times)), window_(window) {}

  std::optional<Arrival> next() override {
    std::optional<Arrival> arrival = times_->next();
    while (arrival && arrival->time < window_.begin) arrival = times_->next();
    if (!arrival || arrival->time >= window_.end) return std::nullopt;
    arrival->time -= window_.begin;
    return arrival;
  }

 private:
  std::unique_ptr<ArrivalTimes> times_;
  TimeWindow window_;
};

/// Each time mapped by a function that keeps order.
template <class Map>
class MappedTimes final : public ArrivalTimes {
 public:
  MappedTimes(std::unique_ptr<ArrivalTimes> times, Map map)
      : times_(std::move(times)), map_(std::move(map)) {}

  std::optional<Arrival> next() override {
    std::optional<Arrival> arrival = times_->next();
    if (arrival) {
      // The root of one time may lie a rounding below that of the time before it.
      latest_ = std::max(latest_, map_(arrival->time));
      arrival->time = latest_;
    }
    return arrival;
  }

 private:
  std::unique_ptr<ArrivalTimes> times_;
  Map map_;
  Seconds latest_;
};

template <class Map>
std::unique_ptr<ArrivalTimes> mapped(std::unique_ptr<ArrivalTimes> times, Map map) {
  return std::make_unique<MappedTimes<Map>>(std::move(times), std::move(map));
}

/// `key`: "window" or "part".
std::optional<TimeWindow> read_window(TableReader& workload, std::string_view key) {
  std::vector<std::string> texts;
  if (!workload.read(key, texts)) return std::nullopt;
  if (texts.size() != 2) {
    workload.fail(key, "must have two times, for example [\"10 min\", \"20 min\"]");
    return std::nullopt;
  }
  TimeWindow window;
  for (const auto& [text, time] : {std::pair(&texts[0], &window.begin), {&texts[1], &window.end}}) {
    if (const auto problem = parse_quantity(*text, *time)) {
      workload.fail(key, *problem);
      return std::nullopt;
    }
  }
  expect_time(workload, key, window.begin, true);
  expect_time(workload, key, window.end, true);
  workload.expect(
      key, window.begin < window.end,
      fmt::format("ends at {} and begins at {}; the end must come later", texts[1], texts[0]));
  return window;
}

void read_diurnal(TableReader& workload, TimeTransform& transform) {
  const Value* options = workload.find_table("diurnal");
  if (options == nullptr) return;
  TableReader table(*options, workload.diagnostics(), "workload.diurnal");
  DiurnalProfile profile;
  table.read("period", profile.period);
  expect_time(table, "period", profile.period, false);
  table.require("amplitude", profile.amplitude);
  table.expect("amplitude", profile.amplitude >= 0.0 && profile.amplitude <= 1.0,
               "must be from 0 (none) to 1 (no requests at the trough)");
  profile.peak = profile.period * 0.5;
  table.read("peak", profile.peak);
  expect_time(table, "peak", profile.peak, true);
  table.finish();
  transform.diurnal = profile;
}

}  // namespace

TimeTransform read_time_transform(TableReader& workload) {
  TimeTransform transform;
  transform.window = read_window(workload, "window");
  workload.read("rate_scale", transform.rate_scale);
  workload.expect("rate_scale", transform.rate_scale >= 1e-6 && transform.rate_scale <= 1e6,
                  "must be from 1e-6 to 1e6; 2.0 doubles the rate");
  read_diurnal(workload, transform);
  transform.part = read_window(workload, "part");
  return transform;
}

void describe(const TimeTransform& transform, Value& workload) {
  const auto set_window = [&](const char* key, const std::optional<TimeWindow>& window) {
    if (!window) return;
    workload.set(key, ValueArray{exact_text(window->begin), exact_text(window->end)});
  };
  set_window("window", transform.window);
  if (transform.rate_scale != 1.0) workload.set("rate_scale", transform.rate_scale);
  if (transform.diurnal) {
    workload.set("diurnal", ValueObject{{"period", exact_text(transform.diurnal->period)},
                                        {"amplitude", transform.diurnal->amplitude},
                                        {"peak", exact_text(transform.diurnal->peak)}});
  }
  set_window("part", transform.part);
}

Seconds diurnal_time(const DiurnalProfile& profile, Seconds even) {
  const double frequency = 2.0 * std::numbers::pi / profile.period.value();
  const double swing = profile.amplitude / frequency;
  const double phase = -frequency * profile.peak.value();
  // The integral never strays further than 2 swings from t, which brackets the root.
  const auto integral = [&](double t) {
    return std::pair(t + swing * (std::sin(frequency * t + phase) - std::sin(phase)) - even.value(),
                     1.0 + profile.amplitude * std::cos(frequency * t + phase));
  };
  const double least = std::max(0.0, even.value() - 2.0 * swing);
  const double most = even.value() + 2.0 * swing;
  std::uintmax_t steps = 200;  // bisection alone needs some 60
  return Seconds(boost::math::tools::newton_raphson_iterate(
      integral, even.value(), least, most, std::numeric_limits<double>::digits - 4, steps));
}

std::unique_ptr<ArrivalTimes> transformed(std::unique_ptr<ArrivalTimes> times,
                                          const TimeTransform& transform) {
  if (transform.window) {
    times = std::make_unique<WindowedTimes>(std::move(times), *transform.window);
  }
  if (transform.rate_scale != 1.0) {
    times = mapped(std::move(times),
                   [scale = transform.rate_scale](Seconds time) { return time / scale; });
  }
  if (transform.diurnal && transform.diurnal->amplitude > 0.0) {
    times = mapped(std::move(times), [profile = *transform.diurnal](Seconds time) {
      return diurnal_time(profile, time);
    });
  }
  if (transform.part) {
    times = std::make_unique<WindowedTimes>(std::move(times), *transform.part);
  }
  return times;
}

}  // namespace foretoken
