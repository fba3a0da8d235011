#include "sim/base/unit_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace foretoken {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// The first unit of each list is the base unit.
constexpr auto time_units = std::to_array<Unit>(
    {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60.0}, {"h", 3600.0}});
constexpr auto data_units = std::to_array<Unit>({{"B", 1.0},
                                                 {"KB", 1e3},
                                                 {"MB", 1e6},
                                                 {"GB", 1e9},
                                                 {"TB", 1e12},
                                                 {"KiB", 1024.0},
                                                 {"MiB", 1048576.0},
                                                 {"GiB", 1073741824.0},
                                                 {"TiB", 1099511627776.0}});
constexpr auto work_units =
    std::to_array<Unit>({{"FLOP", 1.0}, {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15}});
constexpr auto bandwidth_units = std::to_array<Unit>({{"B/s", 1.0},
                                                      {"KB/s", 1e3},
                                                      {"MB/s", 1e6},
                                                      {"GB/s", 1e9},
                                                      {"TB/s", 1e12},
                                                      {"GiB/s", 1073741824.0},
                                                      {"Gb/s", 1.25e8}});
constexpr auto compute_units =
    std::to_array<Unit>({{"FLOP/s", 1.0}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}});
constexpr auto clock_units =
    std::to_array<Unit>({{"Hz", 1.0}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}});
constexpr auto rate_units =
    std::to_array<Unit>({{"/s", 1.0}, {"/min", 1.0 / 60.0}, {"/h", 1.0 / 3600.0}});
constexpr auto power_units = std::to_array<Unit>({{"W", 1.0}, {"kW", 1e3}});
constexpr auto energy_units = std::to_array<Unit>({{"J", 1.0}, {"kJ", 1e3}});
constexpr auto price_units = std::to_array<Unit>({{"USD/h", 1.0}});

template <class Quantity>
struct Units;
#define FORETOKEN_UNITS(type, units, sample)             \
  template <>                                            \
  struct Units<type> {                                   \
    static constexpr std::span<const Unit> list = units; \
    static constexpr std::string_view example = sample;  \
  };
FORETOKEN_UNITS(Seconds, time_units, "500 ms")
FORETOKEN_UNITS(Bytes, data_units, "141 GiB")
FORETOKEN_UNITS(Flops, work_units, "1 TFLOP")
FORETOKEN_UNITS(BytesPerSecond, bandwidth_units, "4.8 TB/s")
FORETOKEN_UNITS(FlopsPerSecond, compute_units, "989 TFLOP/s")
FORETOKEN_UNITS(Hertz, clock_units, "1980 MHz")
FORETOKEN_UNITS(PerSecond, rate_units, "4 /s")
FORETOKEN_UNITS(Watts, power_units, "700 W")
FORETOKEN_UNITS(Joules, energy_units, "1 J")
FORETOKEN_UNITS(DollarsPerHour, price_units, "3.50 USD/h")
#undef FORETOKEN_UNITS

std::string unit_names(std::span<const Unit> units) {
  std::string text;
  for (const Unit& unit : units) {
    if (!text.empty()) text += ", ";
    text += unit.name;
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Three significant digits, but never "1.02e+03 KiB".
std::string three_digits(double number) {
  return std::abs(number) >= 999.5 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}", number);
}

std::string scaled(double value, std::span<const Unit> descending) {
  if (value == 0.0)
    return fmt::format("0 {}", std::ranges::find(descending, 1.0, &Unit::factor)->name);
  for (const Unit& unit : descending) {
    if (std::abs(value) >= unit.factor) {
      return fmt::format("{} {}", three_digits(value / unit.factor), unit.name);
    }
  }
  return fmt::format("{} {}", three_digits(value / descending.back().factor),
                     descending.back().name);
}

}  // namespace

template <class Quantity>
std::optional<std::string> parse_quantity(std::string_view text, Quantity& out) {
  const std::string_view body = trimmed(text);
  double number = 0.0;
  const auto [end, status] = std::from_chars(body.data(), body.data() + body.size(), number);
  if (status != std::errc() || !std::isfinite(number)) {
    return fmt::format("'{}' is not a quantity; write for example \"{}\"", text,
                       Units<Quantity>::example);
  }
  const std::string_view unit = trimmed(body.substr(static_cast<std::size_t>(end - body.data())));
  for (const Unit& known : Units<Quantity>::list) {
    if (known.name != unit) continue;
    if (!std::isfinite(number * known.factor)) return fmt::format("'{}' is too large", text);
    out = Quantity(number * known.factor);
    return std::nullopt;
  }
  if (unit.empty()) {
    return fmt::format("'{}' has no unit; write for example \"{}\" ({})", text,
                       Units<Quantity>::example, unit_names(Units<Quantity>::list));
  }
  return fmt::format("'{}' is not a unit here; the units are {}", unit,
                     unit_names(Units<Quantity>::list));
}

template <class Quantity>
std::string exact_text(Quantity value) {
  return fmt::format("{} {}", value.value(), Units<Quantity>::list.front().name);
}

template <class Quantity>
std::string_view quantity_example() {
  return Units<Quantity>::example;
}

#define FORETOKEN_INSTANTIATE(type)                                                  \
  template std::optional<std::string> parse_quantity<type>(std::string_view, type&); \
  template std::string exact_text<type>(type);                                       \
  template std::string_view quantity_example<type>();
FORETOKEN_INSTANTIATE(Seconds)
FORETOKEN_INSTANTIATE(Bytes)
FORETOKEN_INSTANTIATE(Flops)
FORETOKEN_INSTANTIATE(BytesPerSecond)
FORETOKEN_INSTANTIATE(FlopsPerSecond)
FORETOKEN_INSTANTIATE(Hertz)
FORETOKEN_INSTANTIATE(PerSecond)
FORETOKEN_INSTANTIATE(Watts)
FORETOKEN_INSTANTIATE(Joules)
FORETOKEN_INSTANTIATE(DollarsPerHour)
#undef FORETOKEN_INSTANTIATE

std::string readable(Seconds value) {
  static constexpr auto units =
      std::to_array<Unit>({{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}});
  return scaled(value.value(), units);
}

std::string readable(Bytes value) {
  static constexpr auto units = std::to_array<Unit>({{"TiB", 1099511627776.0},
                                                     {"GiB", 1073741824.0},
                                                     {"MiB", 1048576.0},
                                                     {"KiB", 1024.0},
                                                     {"B", 1.0}});
  return scaled(value.value(), units);
}

}  // namespace foretoken
