// A GPU that is not there: a template's launches become tasks for SMs, our features say how long
// the busiest SM's pipes and the memory take, and what keeps memory from its full rate (too few
// bytes in flight) comes from occupancy, vector width and unrolling. It ranks tiles, widths, fusion
// and occupancy as a GPU of these rates would; bank conflicts, cache policy and instruction
// scheduling are not in it.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "calibration/tune/evaluator.hpp"
#include "kernels/estimators/features.hpp"
#include "kernels/tasks/sm_scheduler.hpp"
#include "sim/base/fingerprint.hpp"
#include "sim/base/random.hpp"

namespace foretoken::tune {
namespace {

// Load-to-use latency of DRAM that bytes in flight have to cover, measured on Hopper by
// microbenchmarks in the literature at 600 to 700 ns.
constexpr double memory_latency_seconds = 650e-9;
// What one kernel adds inside a CUDA graph, beyond its work.
constexpr double launch_seconds = 1.5e-6;

/// Product of the values of a strategy's parameters that grow: vector width, unrolling, stages.
double product_of(const Problem& problem, const State& state, Strategy strategy) {
  double product = 1;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Parameter& parameter = problem.parameters[i];
    if (parameter.strategy == strategy) {
      product *= std::max(1, parameter.values[static_cast<std::size_t>(state[i])]);
    }
  }
  return product;
}

class SimulatedEvaluator final : public Evaluator {
 public:
  SimulatedEvaluator(GpuSpec gpu, const SimulationOptions& options)
      : gpu_(std::move(gpu)), options_(options) {}

  Evaluation evaluate(const Problem& problem, const Candidate& candidate) override {
    Evaluation evaluation;
    if (candidate.state.empty()) {
      evaluation.status = Status::malformed;
      evaluation.detail = "the simulation knows templates alone";
      return evaluation;
    }
    evaluation.status = Status::ok;
    evaluation.compile_seconds = 0.1;
    RandomStream random =
        RandomStreams(options_.seed).stream(problem.name + " " + text_of(problem, candidate.state));
    for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
      evaluation.kernels.clear();
      double seconds = 0;
      if (!add_launches(problem, candidate, i, seconds, evaluation)) return evaluation;
      // Box and Muller; 1 - u is above 0.
      const double normal = std::sqrt(-2 * std::log(1 - uniform(random))) *
                            std::cos(2 * std::numbers::pi * uniform(random));
      evaluation.seconds.push_back(seconds * std::exp(options_.noise * normal));
    }
    return evaluation;
  }
  [[nodiscard]] const GpuSpec& gpu() const override { return gpu_; }

 private:
  static bool refuse(Evaluation& evaluation, std::string detail) {
    evaluation = Evaluation{};
    evaluation.status = Status::launch_failure;
    evaluation.detail = std::move(detail);
    return false;
  }

  bool add_launches(const Problem& problem, const Candidate& candidate, std::size_t shape,
                    double& seconds, Evaluation& evaluation) const {
    const Names names = names_of(problem, candidate.constants, shape, gpu_.sm_count);
    const double vector = product_of(problem, candidate.state, Strategy::vectorization);
    const double depth = product_of(problem, candidate.state, Strategy::pipeline);
    const auto product = [&](const std::vector<std::string>& sizes) {
      double all = 1;
      for (const std::string& size : sizes) all *= tune::evaluate(size, names);
      return all;
    };
    // A plan's work is shared out by threads: what clears or finishes has few of them.
    double all_threads = 0;
    for (const Launch& launch : candidate.launches) {
      if (tune::evaluate(launch.when, names) == 0) continue;
      all_threads += product(launch.grid) * product(launch.block);
    }
    const double plan_flops = tune::evaluate(problem.cost.flops, names);
    const double plan_bytes = tune::evaluate(problem.cost.bytes, names);
    const double plan_asked = tune::evaluate(problem.cost.cache_bytes, names);
    for (const Launch& launch : candidate.launches) {
      if (tune::evaluate(launch.when, names) == 0) continue;
      foretoken::Launch planned;
      const double threads = product(launch.block);
      const double shared = tune::evaluate(launch.shared, names);
      if (threads > 1024) return refuse(evaluation, "more than 1024 threads a block");
      planned.shape.grid_x = static_cast<std::int64_t>(std::max(1.0, product(launch.grid)));
      planned.shape.threads = static_cast<int>(std::max(1.0, threads));
      // Addresses and loop state, and what is in flight: two registers an element.
      planned.shape.registers_per_thread =
          static_cast<int>(std::min(255.0, 24 + 2 * vector * depth));
      planned.shape.shared_memory = Bytes(shared);
      if (shared > gpu_.shared_size_sm.value() - 1024) {
        return refuse(evaluation, "too much shared memory");
      }
      const auto ctas = static_cast<double>(planned.shape.ctas());
      const double part = product(launch.grid) * threads / all_threads;
      const double flops = part * plan_flops, bytes = part * plan_bytes;
      Task task;
      (problem.cost.tensor ? task.tensor_ops : task.fma_ops) =
          (problem.cost.tensor ? flops : flops / 2) / ctas;
      task.bytes_loaded = part * plan_asked / ctas;
      planned.tasks = {{task, planned.shape.ctas()}};
      planned.tensor_dtype = DType::fp16;
      const KernelFeatures features = analyze({.launches = {planned}, .plan = {}}, gpu_);
      const double math_cycles =
          std::max(features.tensor.max_sm_cycles, features.fma.max_sm_cycles);
      // Bytes that all resident threads have under way, against what the latency wants.
      const int resident = std::max(1, resident_ctas(planned.shape, gpu_));
      const double threads_in_flight =
          std::min(ctas, static_cast<double>(resident) * gpu_.sm_count) * threads;
      const double in_flight = threads_in_flight * std::min(16.0, 4 * vector) * depth;
      const double wanted = memory_latency_seconds * gpu_.dram_bandwidth.value();
      const double share = in_flight / (in_flight + wanted / 2);
      const double memory = std::max(bytes / gpu_.dram_bandwidth.value(),
                                     features.memory.max_sm_l2_cycles / gpu_.clock.value());
      seconds += std::max(math_cycles / gpu_.clock.value(), memory / share) + launch_seconds;
      evaluation.kernels.push_back({planned.shape.registers_per_thread, static_cast<int>(shared), 0,
                                    planned.shape.threads, resident, ctas});
    }
    return true;
  }

  GpuSpec gpu_;
  SimulationOptions options_;
};

}  // namespace

std::unique_ptr<Evaluator> make_simulated(GpuSpec gpu, const SimulationOptions& options) {
  return std::make_unique<SimulatedEvaluator>(std::move(gpu), options);
}

}  // namespace foretoken::tune
