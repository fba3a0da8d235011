// SimGrid's share: timed events, and bulk transfers that share links. A process has one clock, so
// every bench here goes on where the one before stopped.
#include <benchmark/benchmark.h>

#include "sim/platform/platform.hpp"

namespace foretoken {
namespace {

Platform& platform() {
  static Platform one(load_cluster("h200-sxm-8", {}));
  return one;
}

/// Asks for its next event until `left` are used up.
class Chain final : public EventHandler {
 public:
  explicit Chain(std::int64_t left) : left_(left) {}
  void on_event(std::uint64_t tag) override {
    if (--left_ > 0) platform().at(platform().now() + Seconds(1e-6), *this, tag);
  }

 private:
  std::int64_t left_;
};

void PlatformEvents(benchmark::State& state) {
  constexpr std::int64_t events = 1000;
  for (auto _ : state) {
    Chain chain(events);
    platform().at(platform().now(), chain, 0);
    platform().run();
  }
  state.SetItemsProcessed(state.iterations() * events);
}
BENCHMARK(PlatformEvents);

class Ignore final : public EventHandler {
 public:
  void on_event(std::uint64_t /*tag*/) override {}
};

void PlatformSharedFlows(benchmark::State& state) {
  Ignore ignore;
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      platform().send(GpuId{0}, GpuId{1 + static_cast<std::uint32_t>(i % 7)},
                      Bytes(1e6 * static_cast<double>(i + 1)), ignore, 0);
    }
    platform().run();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(PlatformSharedFlows)->Arg(1)->Arg(16)->Arg(64);

}  // namespace
}  // namespace foretoken
