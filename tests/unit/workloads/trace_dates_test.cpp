// Dates of traces: offsets from UTC, and times that cannot be of one clock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sim/base/error.hpp"
#include "tests/own_folder.hpp"
#include "workloads/requests/trace.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken::trace_dates_test {
namespace {

/// s between two requests, by the dates of each.
double apart(const std::string& one, const std::string& other) {
  const auto path = own_folder() / "dates.csv";
  std::ofstream(path) << "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                      << one << ",5,5\n"
                      << other << ",5,5\n";
  return load_trace(path, "", false, trace_format_registry())->arrival(1).value();
}

// 12:00:05 two hours east of Greenwich is 10:00:05 there; `date +%z` and Python's %z write no
// colon.
TEST(TraceDates, TellTheirOffsetInThreeWays) {
  for (const char* offset : {"+02:00", "+0200", "+02"})
    EXPECT_EQ(apart("2026-03-01T10:00:00Z", std::string("2026-03-01T12:00:05") + offset), 5.0);
  EXPECT_THROW(apart("2026-03-01T10:00:00Z", "2026-03-01T12:00:05+02:"), ConfigError);
  EXPECT_THROW(apart("2026-03-01T10:00:00Z", "2026-03-01T12:00:05+2"), ConfigError);
}

TEST(TraceDates, TimesOfTwoClocksAreAMistake) {
  const auto load = [](const std::string& text) {
    const auto path = own_folder() / "served.jsonl";
    std::ofstream(path) << text;
    return load_trace(path, "", false, trace_format_registry());
  };
  const auto row = [](const char* arrival) {
    return fmt::format(R"({{"input_toks":9,"output_toks":2,"arrival_time":{}}})"
                       "\n",
                       arrival);
  };
  EXPECT_EQ(load(row("0") + row("300000000"))->arrival(1).value(), 3e8);
  try {
    load(row("1760000001") + row("7.5") + row("1760000002"));
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().front().position.line, 2);
    EXPECT_EQ(
        error.diagnostics().front().message,
        "arrives 55 years before the request of line 3: are all times of one clock and in one "
        "unit? Correct or remove one of the two");
  }
}

}  // namespace
}  // namespace foretoken::trace_dates_test
