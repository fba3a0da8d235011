// Iterations of Llama-3.1-70B on 8 H100 whose all-reduces are simulated, 160 a decode step of 64
// sequences: every one a flow, or all in one lease of the ports while nobody else is on them.
// Prices are looked up for each iteration, as a replica does. Replicas on nodes of their own cost
// as many times as much: what one has on its ports concerns no other. Groups of 16 on two nodes
// each carry a step's all-reduces as one flow a hop, or as one lease.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

#include "sim/platform/platform.hpp"
#include "sim/serving/stage_pricer.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t iterations = 500;

class Decoding final : EventHandler {
 public:
  Decoding(Leasing leasing, std::uint32_t replicas)
      : cluster_(load_cluster(fmt::format("h100-sxm-8x{}", replicas), {})),
        platform_(cluster_, leasing),
        done_(replicas) {
    layout_.tensor = 8;
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      std::vector<GpuId> gpus;
      for (std::uint32_t i = 0; i < 8; ++i) gpus.push_back({8 * replica + i});
      if (!pricer_) {
        StageLinks links(group_links(cluster_, gpus));
        links.are_met = true;
        comm_.all_reduce = "vllm";
        pricer_.emplace(model_, layout_, ExecutionSettings{}, 0, links, comm_, predictor_);
      }
      stages_.push_back(platform_.add_stage(gpus, {gpus.size(), 1}));
    }
  }

  void run() {
    for (std::size_t replica = 0; replica < stages_.size(); ++replica) decode(replica);
    platform_.run();
  }

 private:
  void on_event(std::uint64_t replica) override {
    if (++done_[replica] < iterations) decode(replica);
  }

  void decode(std::size_t replica) {
    std::vector<SequenceSlice> decodes(64, {1, 1000 + done_[replica]});
    BatchShape batch{
        .tokens = 64, .logit_rows = 64, .attention = AttentionLoad::exact(std::move(decodes))};
    platform_.step(stages_[replica], pricer_->price(batch).rounds, *this, replica);
  }

  ClusterSpec cluster_;
  Transformer model_ = load_model("llama-3.1-70b", {});
  ParallelLayout layout_;
  CommSettings comm_{cluster_.comm};
  MemoPredictor predictor_{predictor_named("roofline"), cluster_.gpu};
  Platform platform_;
  std::optional<StagePricer> pricer_;
  std::vector<std::size_t> stages_;
  std::vector<std::int64_t> done_;  // iterations, by replica

  static std::unique_ptr<Predictor> predictor_named(const std::string& name) {
    const Value options;
    Diagnostics diagnostics;
    TableReader table(options, diagnostics, "predictor");
    return predictor_catalog().find(name, {}).make(table);
  }
};

/// 160 all-reduces of 1 MB after each other, then as long a computation.
class AcrossNodes final : EventHandler {
 public:
  AcrossNodes(Leasing leasing, std::uint32_t replicas)
      : platform_(load_cluster(fmt::format("h100-sxm-8x{}", 2 * replicas), {}), leasing),
        groups_(replicas),
        done_(replicas) {
    for (std::uint32_t i = 0; i < 16 * replicas; ++i) groups_[i / 16].push_back({i});
  }

  void run() {
    for (std::size_t replica = 0; replica < groups_.size(); ++replica) communicate(replica);
    platform_.run();
  }

 private:
  static constexpr std::uint64_t computed = 1 << 20;

  void on_event(std::uint64_t tag) override {
    if (tag >= computed) return communicate(tag - computed);
    if (++done_[tag] < iterations)
      platform_.at(platform_.now() + Seconds(0.02), *this, computed + tag);
  }

  void communicate(std::size_t replica) {
    platform_.collective({.size = Bytes(1e6)}, groups_[replica], 160, *this, replica);
  }

  Platform platform_;
  std::vector<std::vector<GpuId>> groups_;
  std::vector<std::int64_t> done_;
};

/// In a child, since a process has one platform; the child says how much CPU time it took.
template <class Work>
double seconds_of(Leasing leasing, std::uint32_t replicas) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    Work work(leasing, replicas);
    const std::clock_t begin = std::clock();
    work.run();
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    _exit(write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 1);
  }
  double seconds = -1;
  if (read(ends[0], &seconds, sizeof seconds) != sizeof seconds) seconds = -1;
  close(ends[0]);
  close(ends[1]);
  waitpid(child, nullptr, 0);
  return seconds;
}

template <class Work>
void NetworkSteps(benchmark::State& state, Leasing leasing) {
  const auto replicas = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) {
    const double seconds = seconds_of<Work>(leasing, replicas);
    if (seconds < 0) {
      state.SkipWithError("the child did not decode");
      break;
    }
    state.SetIterationTime(seconds);
  }
  state.SetItemsProcessed(state.iterations() * iterations * replicas);
}
void NetworkDecoding(benchmark::State& state, Leasing leasing) {
  NetworkSteps<Decoding>(state, leasing);
}
void NetworkAcrossNodes(benchmark::State& state, Leasing leasing) {
  NetworkSteps<AcrossNodes>(state, leasing);
}
BENCHMARK_CAPTURE(NetworkDecoding, every_flow, Leasing::off)
    ->UseManualTime()
    ->RangeMultiplier(2)
    ->Range(1, 16);
BENCHMARK_CAPTURE(NetworkDecoding, leased, Leasing::on)
    ->UseManualTime()
    ->RangeMultiplier(2)
    ->Range(1, 16);
BENCHMARK_CAPTURE(NetworkAcrossNodes, every_flow, Leasing::off)
    ->UseManualTime()
    ->RangeMultiplier(4)
    ->Range(1, 64);
BENCHMARK_CAPTURE(NetworkAcrossNodes, leased, Leasing::on)
    ->UseManualTime()
    ->RangeMultiplier(4)
    ->Range(1, 64);

}  // namespace
}  // namespace foretoken
