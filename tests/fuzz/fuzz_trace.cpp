// Any bytes as a trace file, plain or gzip, in every format and with the format to be found out:
// loading ends in a Trace whose rows are in order and hold tokens and whose calls wait for earlier
// ones, or in a ConfigError. The first
// byte chooses the format and whether bad lines are skipped; the rest is the file, which lives in
// memory so that no disk slows the fuzzer down.
#include <cstdint>
#include <string>

#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "workloads/requests/trace_format.hpp"

namespace {

using namespace foretoken;

void check(const Trace& trace) {
  FORETOKEN_CHECK(trace.size() > 0, "an empty trace was accepted");
  FORETOKEN_CHECK(trace.arrival(0) == Seconds(0.0), "the first row is not at time 0");
  for (std::size_t row = 0; row < trace.size(); ++row) {
    FORETOKEN_CHECK(row == 0 || trace.arrival(row) >= trace.arrival(row - 1), "row {}", row);
    FORETOKEN_CHECK(trace.prompt_tokens(row) >= 1 && trace.output_tokens(row) >= 1, "row {}", row);
  }
  std::size_t calls = 0;
  for (const TraceTrajectory& trajectory : trace.trajectories()) {
    for (std::size_t i = 0; i < trajectory.size(); ++i, ++calls) {
      FORETOKEN_CHECK(trajectory[i].row < trace.size(), "call {}", i);
      FORETOKEN_CHECK((i == 0) == trajectory[i].waits_for.empty(), "call {}", i);
      for (const CallWait& wait : trajectory[i].waits_for)
        FORETOKEN_CHECK(wait.call >= 0 && wait.call < static_cast<int>(i), "call {}", i);
    }
  }
  FORETOKEN_CHECK(calls == 0 || calls == trace.size(), "{} calls", calls);
}

}  // namespace

FORETOKEN_FUZZ(trace)(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const TraceFormatRegistry formats = trace_format_registry();
  const std::size_t choice = data[0] % (2 * (formats.entries().size() + 1));
  const bool skip_bad_lines = choice % 2 == 1;
  const std::size_t entry = choice / 2;
  const std::string format = entry == formats.entries().size() ? "" : formats.entries()[entry].name;
  const MemoryFile file(data + 1, size - 1);
  try {
    check(*load_trace(file.path(), format, skip_bad_lines, formats));
  } catch (const ConfigError&) {
    return 0;  // what a malformed trace has to end in
  }
  return 0;
}
