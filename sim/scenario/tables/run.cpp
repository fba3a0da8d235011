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
       "With several models: the one to simulate. The pools and requests of the others are left "
       "out."},
      {"intervals",
       &S::intervals,
       {},
       "Source of the report's intervals: estimate (from this run's steps, at almost no cost), "
       "simulate (two more runs, with prices at the low and high end of their errors), auto "
       "(simulate if arrivals are open-loop, the GPUs are hardly ever idle and a queue forms, near "
       "saturation; otherwise estimate) or none. Studies of many runs treat auto as estimate."},
      {"warmup",
       &S::warmup,
       {.range = not_negative()},
       "Requests that arrive before this time are served but not counted, so that the run is "
       "measured with its queues and caches filled."},
      {"horizon",
       &S::horizon,
       {.allowed = "later than warmup"},
       "Time at which the run ends; requests then in progress count as unfinished. Not set: it "
       "runs until the last request has ended."},
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
