#include "sim/app/mpi/rank_text.hpp"

#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/planner/row_store.hpp"

namespace foretoken {
namespace {

/// Reads the members of one message.
class Message {
 public:
  explicit Message(const std::string& text) : value_(parse_json(text, {"a rank's message"})) {}

  template <class Member>
  Member get(std::string_view key) {
    Diagnostics mistakes;
    TableReader reader(value_, mistakes, "message");
    Member member = {};
    reader.require(key, member);
    mistakes.throw_if_any();
    return member;
  }
  std::size_t ticket() { return static_cast<std::size_t>(get<std::int64_t>("ticket")); }
  [[nodiscard]] const Value& at(std::string_view key) const {
    const Value* member = value_.find(key);
    FORETOKEN_CHECK(member != nullptr, "a rank's message lacks '{}'", key);
    return *member;
  }

 private:
  Value value_;
};

Value ticket_value(std::size_t ticket) { return static_cast<std::int64_t>(ticket); }

/// Of a run that goes on whatever is missed.
constexpr std::int64_t any_number_missed = -1;

}  // namespace

std::string report_text(const RankReport& report) {
  return to_json(ValueObject{{"host", report.host},
                             {"slots", ticket_value(report.slots)},
                             {"agreement", report.agreement},
                             {"problem", report.problem}},
                 -1);
}

RankReport read_report(const std::string& text) {
  Message message(text);
  return {message.get<std::string>("host"),
          static_cast<std::size_t>(message.get<std::int64_t>("slots")),
          message.get<std::string>("agreement"), message.get<std::string>("problem")};
}

std::string run_text(std::size_t ticket, const RunRequest& request) {
  ValueArray overrides;
  for (const std::string& assignment : request.overrides) overrides.emplace_back(assignment);
  return to_json(ValueObject{{"ticket", ticket_value(ticket)},
                             {"overrides", std::move(overrides)},
                             {"misses_max", request.misses_max.value_or(any_number_missed)}},
                 -1);
}

std::pair<std::size_t, RunRequest> read_run(const std::string& text) {
  Message message(text);
  RunRequest request{message.get<std::vector<std::string>>("overrides")};
  const auto misses = message.get<std::int64_t>("misses_max");
  if (misses != any_number_missed) request.misses_max = misses;
  return {message.ticket(), std::move(request)};
}

std::string done_text(std::size_t ticket, const RunOutcome& outcome) {
  return to_json(ValueObject{{"ticket", ticket_value(ticket)}, {"outcome", outcome_value(outcome)}},
                 -1);
}

std::pair<std::size_t, RunOutcome> read_done(const std::string& text) {
  Message message(text);
  return {message.ticket(), read_outcome(message.at("outcome"))};
}

}  // namespace foretoken
