// What each algorithm costs alone, then how far bulk flows differ from step-by-step ones when
// collectives contend: a table, one row a situation. Alone they agree
// (unit.platform.CollectiveAgreement); sharing links they need not, since a bulk flow is always on
// its links while a stepwise ring leaves them idle between its steps and waits at every step for
// its slowest hop. At last what neighbours cost an engine's step: KV handovers, expert exchanges
// and other replicas on the links of its node.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "kernels/communication/collective_cost.hpp"
#include "sim/platform/platform.hpp"

namespace foretoken {
namespace {

struct Work {
  CollectiveCall call;
  std::vector<GpuId> group;
};

struct Situation {
  const char* title;
  const char* cluster;
  std::vector<Work> work;  // all begin at 0; the table's times are the first one's end
};

std::vector<GpuId> range(std::uint32_t first, std::uint32_t count) {
  std::vector<GpuId> gpus;
  for (std::uint32_t i = 0; i < count; ++i) gpus.push_back({first + i});
  return gpus;
}

Work all_reduce(double size, std::vector<GpuId> group) {
  return {{.size = Bytes(size), .algorithm = "ring"}, std::move(group)};
}

Work send(double size, std::uint32_t from, std::uint32_t to) {
  return {{.op = CollectiveOp::send_recv, .size = Bytes(size)}, {{from}, {to}}};
}

Work all_to_all(double size, std::vector<GpuId> group) {
  return {{.op = CollectiveOp::all_to_all, .size = Bytes(size)}, std::move(group)};
}

class Ends : public EventHandler {
 public:
  explicit Ends(Platform& platform) : platform_(platform) {}
  void on_event(std::uint64_t work) override {
    if (work == 0) first = platform_.now().value();
  }
  double first = 0;

 private:
  Platform& platform_;
};

/// A decode step of 80 layers on the GPUs of one stage: two equal collectives a layer, each behind
/// 20 us of computation.
struct EngineStep {
  CollectiveCall call;
  std::vector<GpuId> gpus;
};

std::vector<StepRounds> rounds_of(const EngineStep& step, const ClusterSpec& cluster) {
  const CommGroup group = step.call.op == CollectiveOp::all_reduce ? CommGroup::tensor_parallel
                                                                   : CommGroup::expert_parallel;
  StepRounds layers{{}, 160};
  Seconds compute(20e-6);
  const auto cost = collective_cost(step.call, group_links(cluster, step.gpus), cluster.comm);
  for (const CollectivePhase& phase : cost.phases) {
    layers.parts.push_back({compute, phase, group});
    compute = Seconds(0);
  }
  return {layers};
}

/// Steps of engines that begin at once, and sends beside them.
struct Neighbours {
  const char* title;
  const char* cluster;
  std::vector<EngineStep> steps;  // the table's times are the first one's end
  std::vector<Work> sends;
};

double simulated(const Neighbours& all, std::size_t steps, bool sends) {
  const ClusterSpec cluster = load_cluster(all.cluster, {});
  Platform platform(cluster);
  Ends ends(platform);
  for (std::size_t i = 0; i < steps; ++i) {
    const EngineStep& step = all.steps[i];
    platform.step(platform.add_stage(step.gpus, {step.gpus.size(), 1}), rounds_of(step, cluster),
                  ends, i);
  }
  for (std::size_t i = 0; sends && i < all.sends.size(); ++i)
    platform.collective(all.sends[i].call, all.sends[i].group, 1, ends, 100);
  platform.run();
  return ends.first;
}

double simulated(const Situation& situation, bool stepwise) {
  Platform platform(load_cluster(situation.cluster, {}));
  Ends ends(platform);
  for (std::size_t i = 0; i < situation.work.size(); ++i) {
    const Work& work = situation.work[i];
    if (stepwise) {
      platform.collective_stepwise(work.call, work.group, ends, i);
    } else {
      platform.collective(work.call, work.group, 1, ends, i);
    }
  }
  platform.run();
  return ends.first;
}

/// In a child: a process simulates once.
double in_child(const std::function<double()>& run) {
  auto* result = static_cast<double*>(
      mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::fflush(stdout);  // the child must not print it again
  const pid_t child = fork();
  if (child == 0) {
    *result = run();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const double value = *result;
  munmap(result, sizeof(double));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? value : -1;
}

std::vector<Situation> situations() {
  const auto two_nodes = range(0, 16);
  return {
      {"one all-reduce of 16, alone", "h100-sxm-8x4", {all_reduce(64e6, two_nodes)}},
      {"two equal all-reduces of 16, one group",
       "h100-sxm-8x4",
       {all_reduce(64e6, two_nodes), all_reduce(64e6, two_nodes)}},
      {"all-reduce of 64 MB beside one of 8 MB",
       "h100-sxm-8x4",
       {all_reduce(64e6, two_nodes), all_reduce(8e6, two_nodes)}},
      {"all-reduce of 8 MB beside one of 64 MB",
       "h100-sxm-8x4",
       {all_reduce(8e6, two_nodes), all_reduce(64e6, two_nodes)}},
      {"all-reduce of 256 kB beside one of 64 MB",
       "h100-sxm-8x4",
       {all_reduce(256e3, two_nodes), all_reduce(64e6, two_nodes)}},
      {"two small all-reduces (64 kB), one group",
       "h100-sxm-8x4",
       {all_reduce(64e3, two_nodes), all_reduce(64e3, two_nodes)}},
      {"all-reduce of 16 and a KV send on one NIC",
       "h100-sxm-8x4",
       {all_reduce(64e6, two_nodes), send(200e6, 0, 8)}},
      {"all-reduce of 16 and KV sends on all NICs",
       "h100-sxm-8x4",
       {all_reduce(64e6, two_nodes), send(20e6, 0, 8), send(20e6, 1, 9), send(20e6, 2, 10),
        send(20e6, 3, 11), send(20e6, 4, 12), send(20e6, 5, 13), send(20e6, 6, 14),
        send(20e6, 7, 15)}},
      {"all-reduce and all-to-all of 16",
       "h100-sxm-8x4",
       {all_reduce(64e6, two_nodes), all_to_all(64e6, two_nodes)}},
      {"rings of 16 that share one node",
       "h100-sxm-8x4",
       {all_reduce(64e6, two_nodes), all_reduce(64e6, range(8, 16))}},
      {"four pairs on one PCIe host bridge",
       "l40s-8",
       {all_reduce(16e6, range(0, 2)), all_reduce(16e6, range(2, 2)), all_reduce(16e6, range(4, 2)),
        all_reduce(16e6, range(6, 2))}},
  };
}

EngineStep all_reduces(double size, std::vector<GpuId> gpus) {
  return {{.size = Bytes(size), .algorithm = "vllm"}, std::move(gpus)};
}

EngineStep exchanges(double size, std::vector<GpuId> gpus) {
  return {{.op = CollectiveOp::expert_dispatch,
           .size = Bytes(size),
           .experts = {128, 8, ExpertMode::low_latency}},
          std::move(gpus)};
}

std::vector<Neighbours> neighbours() {
  // A KV cache of 4 GB, a quarter from each of four GPUs to its like.
  const std::vector<Work> handover = {send(1e9, 0, 4), send(1e9, 1, 5), send(1e9, 2, 6),
                                      send(1e9, 3, 7)};
  return {
      {"decode TP4 (1 MB) beside a KV handover",
       "h100-sxm-8",
       {all_reduces(1e6, range(4, 4))},
       handover},
      {"prefill TP4 (64 MB) beside a KV handover",
       "h100-sxm-8",
       {all_reduces(64e6, range(0, 4))},
       handover},
      {"decode TP4 beside a handover to one GPU",
       "h100-sxm-8",
       {all_reduces(1e6, range(4, 4))},
       {send(1e9, 0, 4)}},
      {"EP4 dispatches (1 MB) beside a KV handover",
       "h100-sxm-8",
       {exchanges(1e6, range(4, 4))},
       handover},
      {"two replicas TP4 on NVSwitch ports",
       "h100-sxm-8",
       {all_reduces(1e6, range(0, 4)), all_reduces(1e6, range(4, 4))},
       {}},
      {"four replicas TP2 on one PCIe host bridge",
       "l40s-8",
       {all_reduces(1e6, range(0, 2)), all_reduces(1e6, range(2, 2)), all_reduces(1e6, range(4, 2)),
        all_reduces(1e6, range(6, 2))},
       {}},
  };
}

struct Priced {
  std::string_view algorithm;
  CollectiveOp op;
  const char* cluster;
  std::uint32_t ranks;
};

constexpr Priced priced[] = {
    {"ring", CollectiveOp::all_reduce, "h100-sxm-8", 8},
    {"nvls", CollectiveOp::all_reduce, "h100-sxm-8", 8},
    {"one_shot", CollectiveOp::all_reduce, "h100-sxm-8", 8},
    {"two_shot", CollectiveOp::all_reduce, "h100-sxm-8", 8},
    {"direct", CollectiveOp::all_to_all, "h100-sxm-8", 8},
    {"ring", CollectiveOp::all_reduce, "h100-sxm-8x4", 32},
    {"tree", CollectiveOp::all_reduce, "h100-sxm-8x4", 32},
    {"hierarchical", CollectiveOp::all_reduce, "h100-sxm-8x4", 32},
    {"direct", CollectiveOp::all_to_all, "h100-sxm-8x4", 32},
    {"expert_exchange", CollectiveOp::expert_dispatch, "h100-sxm-8x4", 32},
};

/// Microseconds, uncontended.
double price(const Priced& row, double size) {
  const ClusterSpec cluster = load_cluster(row.cluster, {});
  const CollectiveCall call{.op = row.op,
                            .size = Bytes(size),
                            .experts = {256, 8, ExpertMode::low_latency},
                            .algorithm = row.algorithm};
  return collective_time(call, group_links(cluster, range(0, row.ranks)), cluster.comm).value() *
         1e6;
}

}  // namespace
}  // namespace foretoken

int main() {
  using namespace foretoken;
  fmt::print("{:<16} {:<16} {:>5} {:>12} {:>12} {:>12}\n", "algorithm", "collective", "ranks",
             "us at 16 kB", "1 MB", "64 MB");
  for (const Priced& row : priced) {
    fmt::print("{:<16} {:<16} {:>5} {:>12.1f} {:>12.1f} {:>12.1f}\n", row.algorithm,
               enum_name(row.op), row.ranks, price(row, 16e3), price(row, 1e6), price(row, 64e6));
  }
  fmt::print("\n{:<44} {:>10} {:>12} {:>11}\n", "situation", "bulk us", "stepwise us",
             "difference");
  for (const Situation& situation : situations()) {
    const double bulk = in_child([&] { return simulated(situation, false); });
    const double stepwise = in_child([&] { return simulated(situation, true); });
    // Rounded, and -0.0 is 0.0.
    const double difference = std::round(1000 * (bulk / stepwise - 1)) / 10 + 0.0;
    fmt::print("{:<44} {:>10.1f} {:>12.1f} {:>9.1f} %\n", situation.title, bulk * 1e6,
               stepwise * 1e6, difference);
  }
  fmt::print("\n{:<44} {:>10} {:>12} {:>11}\n", "160 collectives of a step", "alone us",
             "beside us", "longer");
  for (const Neighbours& all : neighbours()) {
    const double alone = in_child([&] { return simulated(all, 1, false); });
    const double beside = in_child([&] { return simulated(all, all.steps.size(), true); });
    fmt::print("{:<44} {:>10.1f} {:>12.1f} {:>9.1f} %\n", all.title, alone * 1e6, beside * 1e6,
               std::round(1000 * (beside / alone - 1)) / 10 + 0.0);
  }
}
