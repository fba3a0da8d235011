// Strong types for physical quantities, so that only operations with a meaning compile:
// Bytes / BytesPerSecond is Seconds, Bytes + Seconds is an error. Each holds a double in its SI
// base unit. Counts (tokens, layers, CTAs) stay plain integers.
// What it leaves out: units as written by people; those are in unit_text.hpp.
#pragma once

#include <compare>

namespace foretoken {

template <class Dimension>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  /// The magnitude in the SI base unit (s, B, flop, B/s, flop/s, Hz, W, J, 1/s, USD/h).
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) { return value_ += other.value_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value_ -= other.value_, *this; }
  constexpr Quantity& operator*=(double factor) { return value_ *= factor, *this; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a.value_ * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b.value_); }
  friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a.value_ / b); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;

 private:
  double value_ = 0.0;
};

using Seconds = Quantity<struct TimeDimension>;
using Bytes = Quantity<struct DataDimension>;
using Flops = Quantity<struct WorkDimension>;
using BytesPerSecond = Quantity<struct BandwidthDimension>;
using FlopsPerSecond = Quantity<struct ComputeRateDimension>;
using Hertz = Quantity<struct ClockDimension>;
using PerSecond = Quantity<struct RateDimension>;
using Watts = Quantity<struct PowerDimension>;
using Joules = Quantity<struct EnergyDimension>;
using DollarsPerHour = Quantity<struct PriceDimension>;

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return Seconds(amount.value() / rate.value());
}
constexpr Seconds operator/(Flops amount, FlopsPerSecond rate) {
  return Seconds(amount.value() / rate.value());
}
constexpr Bytes operator*(BytesPerSecond rate, Seconds time) {
  return Bytes(rate.value() * time.value());
}
constexpr Joules operator*(Watts power, Seconds time) {
  return Joules(power.value() * time.value());
}

}  // namespace foretoken
