// What came of a run, or of any other job in a process of its own: an answer, or why there is none.
// JSON is how it gets from there to here, in a store or through a pipe; nobody else sees that.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>

#include "sim/base/enum_names.hpp"
#include "sim/base/members.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

/// infeasible: the layout cannot be (a ConfigError, such as a model that does not fit), or nobody
/// knows what its kernels take (a PredictionError). failed: it could, but the run did not end.
enum class RunStatus { ran, infeasible, failed };
template <>
struct EnumNames<RunStatus> {
  static constexpr auto names = std::to_array<std::string_view>({"ran", "infeasible", "failed"});
};

template <class Answer>
struct Outcome {
  RunStatus status = RunStatus::ran;
  std::string message = {};  // why not, on one line; empty if it ran
  Answer report = {};        // if it ran
};

/// Of a run of a scenario: its report without title and rows.
using RunOutcome = Outcome<Report>;

template <class Answer>
struct Finished {
  std::size_t ticket = 0;
  Outcome<Answer> outcome;
};

/// An answer as it is kept: report.json's object, or the members of another type.
template <class Answer>
Value answer_value(const Answer& answer) {
  if constexpr (std::same_as<Answer, Report>) {
    return report_value(answer);
  } else {
    return to_value(answer);
  }
}
template <class Answer>
Answer read_answer(const Value& value) {
  if constexpr (std::same_as<Answer, Report>) {
    return read_report(value);
  } else {
    return from_value<Answer>(value);
  }
}

/// The whole outcome as one object, and back.
template <class Answer>
Value outcome_value(const Outcome<Answer>& outcome) {
  Value value;
  value.set("status", std::string(enum_name(outcome.status)));
  if (!outcome.message.empty()) value.set("message", outcome.message);
  if (outcome.status == RunStatus::ran) value.set("report", answer_value(outcome.report));
  return value;
}
template <class Answer>
Outcome<Answer> read_outcome(const Value& value) {
  Outcome<Answer> outcome;
  ValueReader reader(value);
  reader("status", outcome.status);
  if (reader.has("message", false)) reader("message", outcome.message);
  if (const Value* answer = reader.find("report")) outcome.report = read_answer<Answer>(*answer);
  return outcome;
}

}  // namespace foretoken
