#include "sim/app/mpi/rank_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "sim/app/mpi/rank_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

using namespace std::chrono_literals;

constexpr auto report_patience = 10s;  // for ranks to report; later ones join when they do

}  // namespace

RankRunner::RankRunner(RankMessages& messages, RunProgram program, std::size_t slots,
                       double silence_s)
    : messages_(messages),
      program_(std::move(program)),
      agreement_(agreement(program_)),
      silence_(
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(silence_s))),
      ranks_(static_cast<std::size_t>(messages.ranks())),
      ticked_(Clock::now()) {
  ranks_[0].slots = slots;
  ranks_[0].host = "rank 0";
  const auto have_reported = [&] {
    return std::ranges::all_of(ranks_, [](const Rank& rank) { return !rank.host.empty(); });
  };
  for (const auto end = Clock::now() + report_patience;
       !have_reported() && Clock::now() < end && !StopSignal::asked();) {
    look();
  }
}

RankRunner::~RankRunner() {
  for (int rank = 1; rank < messages_.ranks(); ++rank) messages_.send(rank, MessageKind::stop, "");
}

std::size_t RankRunner::slots() const {
  std::size_t slots = 0;
  for (const Rank& rank : ranks_) slots += rank.is_silent ? 0 : rank.slots;
  return slots;
}

void RankRunner::start(std::size_t ticket, const RunRequest& request) {
  wanted_[ticket] = request;
  queue_.push_back(ticket);
  hand_out();
}

int RankRunner::free_rank() const {
  int found = -1;
  std::size_t most = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Rank& candidate = ranks_[rank];
    if (candidate.is_silent || candidate.running.size() >= candidate.slots) continue;
    if (candidate.slots - candidate.running.size() <= most) continue;
    most = candidate.slots - candidate.running.size();
    found = static_cast<int>(rank);
  }
  return found;
}

void RankRunner::hand_out() {
  for (int rank = free_rank(); rank >= 0 && !queue_.empty(); rank = free_rank()) {
    const std::size_t ticket = queue_.front();
    queue_.pop_front();
    const auto request = wanted_.find(ticket);
    if (request == wanted_.end()) continue;  // a rank that was given up has answered after all
    ranks_[static_cast<std::size_t>(rank)].running.insert(ticket);
    if (rank == 0) {
      program_.start(children_, ticket, request->second);
    } else {
      messages_.send(rank, MessageKind::run, run_text(ticket, request->second));
    }
  }
}

void RankRunner::keep(std::size_t ticket, RunOutcome outcome) {
  if (wanted_.erase(ticket) == 0) return;  // another rank was faster
  finished_.push_back({ticket, std::move(outcome)});
}

void RankRunner::welcome(int number, const std::string& text) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  const RankReport report = read_rank_report(text);
  rank.host = report.host;
  if (report.agreement == agreement_) {
    rank.slots = report.slots;
    return;
  }
  tell("foretoken-mpi: rank {} on {} is not used: {}\n", number, rank.host,
       report.problem.empty()
           ? "its foretoken or its file " + program_.scenario + " differs from rank 0's"
           : report.problem);
  messages_.send(number, MessageKind::stop, "");
}

void RankRunner::hear(const RankMessages::Received& message) {
  Rank& rank = ranks_[static_cast<std::size_t>(message.rank)];
  rank.heard = Clock::now();
  if (rank.is_silent) {
    rank.is_silent = false;
    tell("foretoken-mpi: rank {} on {} is back\n", message.rank, rank.host);
  }
  if (message.kind == MessageKind::hello) welcome(message.rank, message.text);
  if (message.kind != MessageKind::done) return;
  auto [ticket, outcome] = read_done(message.text);
  rank.running.erase(ticket);
  keep(ticket, std::move(outcome));
}

void RankRunner::watch_ranks() {
  const auto now = Clock::now();
  if (now < beat_) return;
  beat_ = now + silence_ / beats_a_silence;
  for (std::size_t number = 1; number < ranks_.size(); ++number) {
    Rank& rank = ranks_[number];
    if (rank.slots == 0) continue;
    messages_.send(static_cast<int>(number), MessageKind::alive, "");
    if (rank.is_silent || now - rank.heard < silence_) continue;
    rank.is_silent = true;
    tell(
        "foretoken-mpi: rank {} on {} has not responded for {:.0f} s and counts as dead; other "
        "ranks take over its runs\n",
        number, rank.host, std::chrono::duration<double>(silence_).count());
    queue_.insert(queue_.begin(), rank.running.begin(), rank.running.end());
    rank.running.clear();
  }
}

void RankRunner::look() {
  while (const auto message = messages_.receive()) hear(*message);
  watch_ranks();
  hand_out();
  if (const auto ended = children_.poll(look_s)) {
    ranks_[0].running.erase(ended->ticket);
    keep(ended->ticket, finished_of<Report>(*ended).outcome);
  }
}

std::optional<ScenarioRunner::Finished> RankRunner::wait() {
  FORETOKEN_CHECK(!wanted_.empty() || !finished_.empty(), "nothing runs that could finish");
  for (;;) {
    if (!finished_.empty()) {
      Finished finished = std::move(finished_.front());
      finished_.pop_front();
      // A signal to the whole job ends runs too; that is no failure of theirs.
      if (!StopSignal::asked() || finished.outcome.status != RunStatus::failed) return finished;
    }
    if (StopSignal::asked()) return std::nullopt;
    look();
    const auto period = period_s();
    if (!period || Clock::now() - ticked_ < std::chrono::duration<double>(*period)) continue;
    ticked_ = Clock::now();
    tick();
  }
}

bool RankRunner::pause(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end && !StopSignal::asked()) look();
  return !StopSignal::asked();
}

}  // namespace foretoken
