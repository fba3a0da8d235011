#include "workloads/requests/time_transform.hpp"

#include <algorithm>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>
#include <utility>

#include "workloads/requests/traffic_keys.hpp"

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

const Keys<DiurnalProfile>& diurnal_keys() {
  using S = DiurnalProfile;
  static const Keys<S> keys = {
      time_key<S>({.name = "period", .meaning = "Length of a cycle; a day unless set."}, &S::period,
                  false),
      {"amplitude",
       &S::amplitude,
       {.range = between(0, 1, "must be from 0 (none) to 1 (no requests at the trough)"),
        .required = true},
       "How far the rate swings around its mean: at 0.5 it is 1.5 times the mean at the peak and "
       "half of it in the trough."},
      time_key<S>({.name = "peak",
                   .fallback = "half the period",
                   .meaning = "When the rate is highest, from the start of the period."},
                  &S::peak, true),
  };
  return keys;
}

void read_diurnal(TableReader& workload, TimeTransform& transform) {
  const Value* options = workload.find_table("diurnal");
  if (options == nullptr) return;
  TableReader table(*options, workload.diagnostics(), "workload.diurnal");
  DiurnalProfile profile;
  diurnal_keys().read(table, profile);
  if (table.find("peak") == nullptr) profile.peak = profile.period * 0.5;
  table.finish();
  transform.diurnal = profile;
}

std::optional<Value> diurnal_value(const TimeTransform& transform) {
  if (!transform.diurnal) return std::nullopt;
  return diurnal_keys().table(*transform.diurnal);
}

Key<TimeTransform> window_key(const std::string& name,
                              std::optional<TimeWindow> TimeTransform::*member,
                              std::string meaning) {
  return {{.name = name,
           .type = "list of two times",
           .unit = "[\"10 min\", \"20 min\"]",
           .fallback = "not set",
           .meaning = std::move(meaning)},
          [name, member](TableReader& workload, TimeTransform& transform) {
            transform.*member = read_window(workload, name);
          },
          [member](const TimeTransform& transform) -> std::optional<Value> {
            const std::optional<TimeWindow>& window = transform.*member;
            if (!window) return std::nullopt;
            return ValueArray{exact_text(window->begin), exact_text(window->end)};
          }};
}

}  // namespace

const Keys<TimeTransform>& time_transform_keys() {
  using S = TimeTransform;
  static const Keys<S> keys = {
      window_key("window", &S::window,
                 "Part of the traffic that is replayed, such as an hour of a trace; its beginning "
                 "becomes time 0."),
      {"rate_scale",
       &S::rate_scale,
       {.range = between(1e-6, 1e6, "must be from 1e-6 to 1e6; 2.0 doubles the rate"),
        .quiet = true},
       "Factor on the rate of arrivals: 2 plays the traffic twice as fast."},
      {{.name = "diurnal",
        .type = "table",
        .fallback = "not set (the rate is steady)",
        .meaning = "Rate that rises and falls around its mean: [workload.diurnal]."},
       read_diurnal,
       diurnal_value},
      window_key("part", &S::part,
                 "Part that is served once window, rate_scale and diurnal have been applied, such "
                 "as the evening of a generated day."),
  };
  return keys;
}

KeyTable diurnal_key_table() {
  return {"workload.diurnal", "", "A rate that follows the time of day.", diurnal_keys().notes()};
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
