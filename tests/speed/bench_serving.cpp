// One step of the scheduler with a full batch of decoding sequences: the hottest loop of a run,
// once an iteration (aim: 100,000 iterations a second in all).
#include <benchmark/benchmark.h>

#include <deque>

#include "sim/serving/prefix_cache.hpp"
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

/// One chunk more of a context, among contexts of a thousand chunks each: what a decode asks of the
/// prefix cache every sixteen tokens.
void ServingPrefixChunk(benchmark::State& state) {
  constexpr std::int64_t chunks = 1000;
  const auto contexts = static_cast<std::uint64_t>(state.range(0));
  const auto first_of = [](std::uint64_t context) { return context * 0x9e3779b97f4a7c15U; };
  PrefixCache cache;
  for (std::uint64_t context = 0; context < contexts; ++context)
    cache.add({first_of(context), chunks}, 1);
  std::uint64_t step = 0;
  for (auto _ : state) {
    const std::uint64_t context = step * 7919 % contexts;
    const PrefixRun run{first_of(context) + chunks + step / contexts, 1};
    ++step;
    benchmark::DoNotOptimize(cache.add(run, 1));
    benchmark::DoNotOptimize(cache.find(run));
  }
}
BENCHMARK(ServingPrefixChunk)->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace foretoken
