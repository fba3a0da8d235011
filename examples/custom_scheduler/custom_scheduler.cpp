// A scheduler of your own: last come, first served, for clients who would rather see the newest
// question answered at once. It takes vLLM's mixed batches and changes who is let in; its medians
// stand beside those of the built-in `vllm_v1` on the same traffic.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/json.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/serving/mixed_batching.hpp"

namespace {

class LastComeFirst final : public foretoken::MixedBatching {
 public:
  LastComeFirst(const foretoken::MixedBatchingConfig& config,
                const foretoken::SchedulerLimits& limits, foretoken::KvCache& cache)
      : MixedBatching(config, limits, cache) {}

 private:
  void fill(foretoken::Batch& batch) override {
    for (std::size_t i = 0; i < running_.size() && budget() > 0; ++i) serve_running(i, batch);
    while (may_admit()) {
      bring_newest_to_front();
      if (!admit_first(batch)) return;
    }
  }

  void bring_newest_to_front() {
    const auto newest = std::ranges::max_element(waiting_, {}, [](const auto* sequence) {
      return std::pair(sequence->record.arrival, sequence->record.id);
    });
    std::rotate(waiting_.begin(), newest, newest + 1);
  }
};

int run(const std::string& scenario) {
  foretoken::Catalogs catalogs;
  catalogs.schedulers.add(
      "last_come_first", "mixed batching, the newest request is let in first",
      [](foretoken::TableReader& options, const foretoken::SchedulerLimits& limits,
         foretoken::KvCache& cache) -> std::unique_ptr<foretoken::Scheduler> {
        return std::make_unique<LastComeFirst>(foretoken::read_mixed_batching(options), limits,
                                               cache);
      });
  for (const char* scheduler : {"vllm_v1", "last_come_first"}) {
    const auto question = foretoken::load_question(
        scenario, {fmt::format("engine.scheduler={}", scheduler), "engine.sequences_max=4"});
    const foretoken::Answer answer = foretoken::simulate(question, catalogs);
    fmt::print("{:16} TTFT {}\n", scheduler,
               foretoken::to_json(*answer.report.find("ttft_ms"), -1));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: custom_scheduler SCENARIO.toml\n");
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "custom_scheduler: {}\n", error.what());
    return 1;
  }
}
