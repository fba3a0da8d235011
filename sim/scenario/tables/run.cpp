#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

const Keys<RunSettings>& run_keys() {
  using S = RunSettings;
  static const Keys<S> keys = {
      {"seed",
       &S::seed,
       {},
       "Seed of every random stream: arrivals, lengths, acceptance. The same seed gives the same "
       "run, bit by bit; other seeds show how much is chance."},
      {"only_model",
       &S::only_model,
       {.fallback = "not set (all models)", .quiet = true},
       "Of several models the one whose pools and requests are run; the other pools are left out, "
       "and their requests with them."},
      {"intervals",
       &S::intervals,
       {},
       "Where the report's intervals come from: estimate (from this run's steps, at next to no "
       "cost), simulate (two more runs, with prices as low and as high as their errors allow), "
       "auto (simulate where requests come at their own pace, the GPUs are hardly ever idle and a "
       "queue forms, which may tip over; else estimate) or none. Studies of many runs take auto as "
       "estimate."},
      {"warmup",
       &S::warmup,
       {.range = not_negative()},
       "Requests that arrive before this time are served but not counted, so that the run is "
       "measured with its queues and caches filled."},
      {"horizon",
       &S::horizon,
       {.allowed = "later than warmup"},
       "Time at which the run is cut; requests then in progress count as unfinished. Not set: it "
       "goes on until the last request has ended."},
  };
  return keys;
}

}  // namespace

void read_run_table(TableReader table, Scenario& scenario) {
  RunSettings& run = scenario.run;
  run_keys().read(table, run);
  table.expect("horizon", !run.horizon || *run.horizon > run.warmup,
               "must be later than the warmup");
  finish(table);
}

Value resolved_run_table(const Scenario& scenario) { return run_keys().table(scenario.run); }

KeyTable run_key_table() {
  return {"run", "", "The simulation itself: seed, warm-up, end, intervals.", run_keys().notes()};
}

}  // namespace foretoken
