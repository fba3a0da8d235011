// What a transfer does, as rounds: a delay (latency, or a step's computation), then flows that
// start together. Equal rounds and equal sequences of rounds are written once with how often they
// come, so that the 160 all-reduces of a decode step are two rounds. A Course is a place in them
// that moves on, round by round or, while nobody else is on the links, by a stretch of time.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/platform/collective_plan.hpp"

namespace foretoken {

struct Round {
  Seconds delay;                   // before the flows
  std::vector<PlannedFlow> flows;  // none: the delay is all

  /// From the first flow's start to the last one's end, uncontended.
  [[nodiscard]] Seconds flowing() const;
  [[nodiscard]] Seconds time() const { return delay + flowing(); }
};

/// `repeats` times (at least once) the same rounds (at least one).
struct Section {
  std::vector<Round> rounds;
  std::int64_t repeats = 1;
};

/// Whether a collective's steps are one long round, or a round each.
enum class Pace { bulk, stepwise };

/// A phase of a collective, `repeats` times.
Section section_of(PlannedPhase phase, int repeats, Pace pace);
/// Its flows together move no faster than `rate`.
void hold_to(BytesPerSecond rate, PlannedPhase& phase);

class Course {
 public:
  Course() = default;
  explicit Course(std::vector<Section> sections) : sections_(std::move(sections)) {}

  [[nodiscard]] bool is_over() const { return section_ == sections_.size(); }
  /// The round that is due or running; not when it is over.
  [[nodiscard]] const Round& round() const { return sections_[section_].rounds[round_]; }
  void next();

  /// Uncontended time from the beginning of the round that is due to the end.
  [[nodiscard]] Seconds left() const;
  /// Rounds with flows from the one that is due on.
  [[nodiscard]] std::int64_t transfers_left() const;
  /// All that its flows take, each once.
  [[nodiscard]] std::vector<LinkIndex> links() const;
  /// Moves on by `elapsed` uncontended, from the beginning of the round that is due; returns how
  /// far into the round it then stands.
  Seconds skip(Seconds elapsed);

 private:
  std::vector<Section> sections_;
  std::size_t section_ = 0;
  std::int64_t repeat_ = 0;
  std::size_t round_ = 0;
};

}  // namespace foretoken
