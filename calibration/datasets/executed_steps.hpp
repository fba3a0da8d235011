// Whole engine steps that calibration/measure/step_executor.py ran on a GPU: each with its GPU
// time, its host times, and the time of every role's kernels in it. A table of steps
// (NAME.csv[.gz]) has a table of their kernels beside it (NAME_kernels.csv[.gz]);
// calibration/datasets/README.md has the columns.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/transformer.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// What the first lines of the two tables say.
inline constexpr std::string_view steps_format = "foretoken steps 1";
inline constexpr std::string_view step_kernels_format = "foretoken step kernels 1";

struct ExecutedStep {
  std::string file;  // "h200/steps.csv.gz"
  std::string model;
  ParallelLayout layout;
  int ranks = 1;  // that really ran; 1 with tensor > 1: one rank's share, without collectives
  std::string gpu;
  std::string phase;            // "prefill", "decode" or "mixed"
  std::string prefill, decode;  // as the table spells them: "512x2560", "1024x16"
  Framework framework = Framework::pytorch;
  KernelSource attention = KernelSource::automatic;  // whose attention ran
  BatchShape batch;
  bool has_multicast = true;  // NCCL may let the switch add up
  Seconds gpu_time;           // as one CUDA graph, replayed again and again
  /// Of one replay after a rest, at the clock of a cool card; where that was measured.
  std::optional<Seconds> rested_time;
  int launches = 0;    // kernels
  Seconds graph_host;  // of the host, to launch that graph
  Seconds eager_host;  // to launch kernel by kernel from Python
  struct Role {
    std::string name;  // as the generator's: "qkv_proj"
    int launches = 0;
    Seconds time;  // in the step: durations and the gaps behind them
    std::string kernel_name;
  };
  std::vector<Role> roles;  // empty where no trace was taken
  std::string run;          // of steps that add up to a run: which; else ""
  double stands_for = 1;    // so many of that run's steps
};

/// The steps below `path` (a folder, or one table), in the order of files and rows. Throws
/// ConfigError for a malformed row, an unknown model or GPU, or a table without its kernels.
std::vector<ExecutedStep> load_executed_steps(const std::filesystem::path& path);

/// The kernels of one rank in such a step, as the simulator would price them in vLLM, whose
/// products are PyTorch's too; attention is the step's own, its keys in one piece. Collectives only
/// where other ranks took part.
KernelSequence kernels_of(const ExecutedStep& step, const Transformer& model);

}  // namespace foretoken
