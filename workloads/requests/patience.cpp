#include "workloads/requests/patience.hpp"

namespace foretoken {

Patience read_patience(TableReader& workload) {
  Patience patience;
  patience.timeout = read_time_distribution(workload, "workload", "timeout");
  patience.first_token_timeout =
      read_time_distribution(workload, "workload", "first_token_timeout");
  const Value* options = workload.find_table("cancellations");
  if (options == nullptr) return patience;
  TableReader table(*options, workload.diagnostics(), "workload.cancellations");
  Patience::Cancellations cancellations;
  table.require("share", cancellations.share);
  table.expect("share", cancellations.share >= 0.0 && cancellations.share <= 1.0,
               "is a share of the requests: from 0 to 1");
  if (table.find("after") == nullptr) {
    table.fail("after", "is missing; write a time after the arrival, for example \"5 s\"");
  }
  const auto after = read_time_distribution(table, "workload.cancellations", "after");
  if (after) cancellations.after = *after;
  table.finish();
  patience.cancellations = cancellations;
  return patience;
}

void describe(const Patience& patience, Value& workload) {
  if (patience.timeout) workload.set("timeout", patience.timeout->resolved());
  if (patience.first_token_timeout) {
    workload.set("first_token_timeout", patience.first_token_timeout->resolved());
  }
  if (patience.cancellations) {
    workload.set("cancellations", ValueObject{{"share", patience.cancellations->share},
                                              {"after", patience.cancellations->after.resolved()}});
  }
}

PatienceDraws::PatienceDraws(const Patience& patience, const RandomStreams& random)
    : patience_(patience),
      timeout_random_(random.stream("timeout")),
      first_token_random_(random.stream("first_token_timeout")),
      cancellation_random_(random.stream("cancellations")) {}

void PatienceDraws::give(Request& request) {
  if (patience_.timeout) request.timeout = patience_.timeout->sample(timeout_random_);
  if (patience_.first_token_timeout) {
    request.first_token_timeout = patience_.first_token_timeout->sample(first_token_random_);
  }
  if (!patience_.cancellations) return;
  // Both are drawn for every request, so that another share cancels a part or more of the same.
  const bool cancels = uniform(cancellation_random_) < patience_.cancellations->share;
  const Seconds after = patience_.cancellations->after.sample(cancellation_random_);
  if (cancels) request.cancel_after = after;
}

}  // namespace foretoken
