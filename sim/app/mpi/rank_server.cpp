// The ranks but the first: they start runs as they are told and answer with what came out.
#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "sim/app/mpi/rank_runner.hpp"
#include "sim/app/mpi/rank_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

constexpr int silences_alone = 4;  // of rank 0, until this one goes too

RankReport report_of(const RunProgram& program, std::size_t slots) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  RankReport report{host, slots, "", ""};
  try {
    report.agreement = agreement(program);
  } catch (const std::exception& error) {
    report.problem = error.what();
  }
  return report;
}

}  // namespace

std::string agreement(const RunProgram& program) {
  const std::string scenario = to_toml(load_toml(program.scenario, FileKind::scenario));
  return fmt::format("{} {:016x}", version_of(program.foretoken),
                     Fingerprint().add(std::string_view(scenario)).value());
}

void serve_runs(RankMessages& messages, const RunProgram& program, std::size_t slots,
                double silence_s) {
  using Clock = std::chrono::steady_clock;
  const StopSignal stop;
  ChildProcesses children;
  messages.send(0, MessageKind::hello, report_text(report_of(program, slots)));
  const auto silence =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(silence_s));
  Clock::time_point beat = Clock::now();
  std::optional<Clock::time_point> heard;  // of rank 0
  while (!StopSignal::asked()) {
    while (const auto message = messages.receive()) {
      heard = Clock::now();
      if (message->kind == MessageKind::stop) return;
      if (message->kind != MessageKind::run) continue;
      const auto [ticket, request] = read_run(message->text);
      program.start(children, ticket, request);
    }
    if (Clock::now() >= beat) {
      messages.send(0, MessageKind::alive, "");
      beat = Clock::now() + silence / beats_a_silence;
    }
    if (heard && Clock::now() - *heard > silences_alone * silence) messages.abandon(1);
    if (const auto ended = children.poll(look_s))
      messages.send(0, MessageKind::done, done_text(finished_of<Report>(*ended)));
  }
}

}  // namespace foretoken
