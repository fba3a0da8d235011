// Quantities as people write them: every unit's factor, the exact refusals, and the way back.
#include "sim/base/unit_text.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken {
namespace {

template <class Quantity>
double parsed(std::string_view text) {
  Quantity quantity(-1.0);
  const auto problem = parse_quantity(text, quantity);
  EXPECT_EQ(problem, std::nullopt) << text;
  return quantity.value();
}

template <class Quantity>
std::string refusal(std::string_view text) {
  Quantity quantity(-1.0);
  const auto problem = parse_quantity(text, quantity);
  EXPECT_EQ(quantity.value(), -1.0) << "a refused text must leave the old value";
  return problem.value_or("accepted");
}

TEST(UnitText, DecimalAndBinaryBytesDiffer) {
  EXPECT_EQ(parsed<Bytes>("141 GB"), 141e9);
  EXPECT_EQ(parsed<Bytes>("141 GiB"), 141.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(parsed<Bytes>("50 MiB"), 50.0 * 1024 * 1024);
  EXPECT_EQ(parsed<Bytes>("228 KiB"), 228.0 * 1024);
  EXPECT_EQ(parsed<Bytes>("1 TiB"), std::pow(2.0, 40));
  EXPECT_EQ(parsed<Bytes>("7 B"), 7.0);
}

TEST(UnitText, Times) {
  EXPECT_EQ(parsed<Seconds>("500 ms"), 0.5);
  EXPECT_DOUBLE_EQ(parsed<Seconds>("3.5 us"), 3.5e-6);
  EXPECT_DOUBLE_EQ(parsed<Seconds>("20 ns"), 2e-8);
  EXPECT_EQ(parsed<Seconds>("2 min"), 120.0);
  EXPECT_EQ(parsed<Seconds>("1.5 h"), 5400.0);
}

TEST(UnitText, Rates) {
  EXPECT_EQ(parsed<BytesPerSecond>("4.8 TB/s"), 4.8e12);
  // 400 Gb/s of InfiniBand are 50 GB/s: 8 bits a byte.
  EXPECT_EQ(parsed<BytesPerSecond>("400 Gb/s"), 50e9);
  EXPECT_EQ(parsed<FlopsPerSecond>("989 TFLOP/s"), 989e12);
  EXPECT_EQ(parsed<Hertz>("1980 MHz"), 1.98e9);
  EXPECT_EQ(parsed<PerSecond>("4 /s"), 4.0);
  EXPECT_EQ(parsed<PerSecond>("240 /min"), 4.0);
}

TEST(UnitText, PowerEnergyPriceWork) {
  EXPECT_EQ(parsed<Watts>("0.7 kW"), 700.0);
  EXPECT_EQ(parsed<Joules>("2 kJ"), 2000.0);
  EXPECT_EQ(parsed<DollarsPerHour>("3.50 USD/h"), 3.5);
  EXPECT_EQ(parsed<Flops>("2 TFLOP"), 2e12);
}

TEST(UnitText, SpacesDoNotMatter) {
  EXPECT_EQ(parsed<Seconds>("500ms"), 0.5);
  EXPECT_EQ(parsed<Seconds>("  500   ms "), 0.5);
}

TEST(UnitText, RefusesABareNumber) {
  EXPECT_EQ(refusal<Seconds>("500"),
            "'500' has no unit; write for example \"500 ms\" (s, ms, us, ns, min, h)");
}

TEST(UnitText, RefusesAForeignUnit) {
  EXPECT_EQ(refusal<PerSecond>("4 rps"), "'rps' is not a unit here; the units are /s, /min, /h");
  EXPECT_EQ(refusal<Watts>("700 w"), "'w' is not a unit here; the units are W, kW");
}

TEST(UnitText, RefusesWhatIsNoNumber) {
  EXPECT_EQ(refusal<Watts>("much"), "'much' is not a quantity; write for example \"700 W\"");
  EXPECT_EQ(refusal<Watts>(""), "'' is not a quantity; write for example \"700 W\"");
  EXPECT_EQ(refusal<Watts>("inf W"), "'inf W' is not a quantity; write for example \"700 W\"");
  EXPECT_EQ(refusal<Watts>("nan W"), "'nan W' is not a quantity; write for example \"700 W\"");
}

TEST(UnitText, RefusesWhatOverflows) {
  // 1e306 is a double, 1e306 * 2^40 is not.
  EXPECT_EQ(refusal<Bytes>("1e306 TiB"), "'1e306 TiB' is too large");
}

TEST(UnitText, ExactTextReadsBackToTheSameBits) {
  EXPECT_EQ(exact_text(Seconds(0.5)), "0.5 s");
  EXPECT_EQ(exact_text(PerSecond(4.0)), "4 /s");
  for (const double value : {1.0 / 3.0, 1e-300, 6.02e23, 0.1 + 0.2, 5e-324}) {
    EXPECT_EQ(parsed<Seconds>(exact_text(Seconds(value))), value);
  }
}

TEST(UnitText, ExamplesParse) {
  Seconds time;
  EXPECT_EQ(parse_quantity(quantity_example<Seconds>(), time), std::nullopt);
  EXPECT_EQ(time, Seconds(0.5));
  Bytes size;
  EXPECT_EQ(parse_quantity(quantity_example<Bytes>(), size), std::nullopt);
  DollarsPerHour price;
  EXPECT_EQ(parse_quantity(quantity_example<DollarsPerHour>(), price), std::nullopt);
}

TEST(UnitText, ReadableKeepsThreeDigits) {
  EXPECT_EQ(readable(Seconds(1.234e-3)), "1.23 ms");
  EXPECT_EQ(readable(Seconds(12.0)), "12 s");
  EXPECT_EQ(readable(Seconds(-0.5)), "-500 ms");
  EXPECT_EQ(readable(Seconds(2e-10)), "0.2 ns");
  EXPECT_EQ(readable(Bytes(141.0 * 1024 * 1024 * 1024)), "141 GiB");
}

TEST(UnitText, ReadableNeverUsesAnExponent) {
  EXPECT_EQ(readable(Seconds(7200.0)), "7200 s");
  EXPECT_EQ(readable(Seconds(0.9999)), "1000 ms");
  EXPECT_EQ(readable(Bytes(1023.6 * 1024)), "1024 KiB");
}

TEST(UnitText, ReadableZeroIsInTheBaseUnit) {
  EXPECT_EQ(readable(Seconds(0.0)), "0 s");
  EXPECT_EQ(readable(Bytes(0.0)), "0 B");
}

}  // namespace
}  // namespace foretoken
