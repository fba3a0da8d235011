// One step of the scheduler with a full batch of decoding sequences: the hottest loop of a run,
// once an iteration (aim: 100,000 iterations a second in all).
#include <benchmark/benchmark.h>

#include <deque>

#include "sim/serving/scheduler.hpp"

namespace foretoken {
namespace {

void ServingDecodeStep(benchmark::State& state) {
  const auto sequences = static_cast<int>(state.range(0));
  KvCache cache(std::int64_t{1} << 40, 16);
  const Value options;
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "engine");
  const auto scheduler =
      scheduler_catalog().find("vllm_v1", {}).make(table, {8192, sequences}, cache);
  std::deque<Sequence> running(static_cast<std::size_t>(sequences));
  for (Sequence& sequence : running) {
    sequence.prompt_tokens = 16;
    sequence.output_tokens = std::int64_t{1} << 40;
    scheduler->enqueue(sequence);
  }
  Batch batch;
  const auto step = [&] {
    batch.clear();
    scheduler->next_batch(Seconds(0.0), batch);
    for (const BatchEntry& entry : batch.entries) {
      --entry.sequence->steps_in_flight;
      if (entry.samples) ++entry.sequence->produced;
    }
  };
  step();  // the prompts, so that what follows is decoding
  for (auto _ : state) step();
  state.SetItemsProcessed(state.iterations() * sequences);
}
BENCHMARK(ServingDecodeStep)->Arg(1)->Arg(64)->Arg(256);

}  // namespace
}  // namespace foretoken
