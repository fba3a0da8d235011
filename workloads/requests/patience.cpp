#include "workloads/requests/patience.hpp"

namespace foretoken {

namespace {

const Keys<Patience::Cancellations>& cancellation_keys() {
  using S = Patience::Cancellations;
  static const Keys<S> keys = {
      {"share",
       &S::share,
       {.range = between(0, 1, "is a share of the requests: from 0 to 1"), .required = true},
       "Share of the clients that stop reading before the answer is complete."},
      {"after",
       &S::after,
       {.fallback = "required"},
       "When they stop, counted from the request's arrival."},
  };
  return keys;
}

void read_cancellations(TableReader& workload, Patience& patience) {
  const Value* options = workload.find_table("cancellations");
  if (options == nullptr) return;
  TableReader table(*options, workload.diagnostics(), "workload.cancellations");
  patience.cancellations = Patience::Cancellations{};
  cancellation_keys().read(table, *patience.cancellations);
  if (table.find("after") == nullptr) {
    table.fail("after", "is missing; write a time after the arrival, for example \"5 s\"");
  }
  table.finish();
}

std::optional<Value> cancellations_value(const Patience& patience) {
  if (!patience.cancellations) return std::nullopt;
  return cancellation_keys().table(*patience.cancellations);
}

}  // namespace

const Keys<Patience>& patience_keys() {
  using S = Patience;
  static const Keys<S> keys = {
      {"timeout",
       &S::timeout,
       {.fallback = "not set (clients wait for ever)"},
       "How long a client waits for the whole answer before it gives up, from the arrival."},
      {"first_token_timeout",
       &S::first_token_timeout,
       {.fallback = "not set (clients wait for ever)"},
       "How long a client waits for the first token before it gives up."},
      {{.name = "cancellations",
        .type = "table",
        .fallback = "not set (none)",
        .meaning = "Clients that cancel their requests: [workload.cancellations]."},
       read_cancellations,
       cancellations_value},
  };
  return keys;
}

KeyTable cancellation_key_table() {
  return {"workload.cancellations", "", "Clients that stop reading an answer.",
          cancellation_keys().notes()};
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
