#include "sim/app/mpi/rank_text.hpp"

#include "sim/base/json.hpp"

namespace foretoken {

template <class Archive>
void members(Archive& a, RankReport& report) {
  a("host", report.host);
  a("slots", report.slots);
  a("agreement", report.agreement);
  a("problem", report.problem);
}

namespace {

/// A run that a rank is to make.
struct Order {
  std::size_t ticket = 0;
  std::vector<std::string> changes;
  std::optional<std::int64_t> misses_max;
};

std::string text_of(const Value& value) { return to_json(value, -1); }
Value message_in(const std::string& text) { return parse_json(text, {"a rank's message"}); }

}  // namespace

template <class Archive>
void members(Archive& a, Order& order) {
  a("ticket", order.ticket);
  a("changes", order.changes);
  a("misses_max", order.misses_max);
}

std::string report_text(const RankReport& report) { return text_of(to_value(report)); }

RankReport read_rank_report(const std::string& text) {
  return from_value<RankReport>(message_in(text));
}

std::string run_text(std::size_t ticket, const RunRequest& request) {
  return text_of(to_value(Order{ticket, texts_of(request.changes), request.misses_max}));
}

std::pair<std::size_t, RunRequest> read_run(const std::string& text) {
  const Order order = from_value<Order>(message_in(text));
  return {order.ticket, {parse_changes(order.changes), order.misses_max}};
}

std::string done_text(const Finished<Report>& finished) {
  return text_of(ValueObject{{"ticket", static_cast<std::int64_t>(finished.ticket)},
                             {"outcome", outcome_value(finished.outcome)}});
}

Finished<Report> read_done(const std::string& text) {
  const Value value = message_in(text);
  ValueReader reader(value);
  Finished<Report> finished;
  reader("ticket", finished.ticket);
  finished.outcome = read_outcome<Report>(*reader.find("outcome"));
  return finished;
}

}  // namespace foretoken
