// The plan command as far as it is the same for foretoken, which forks, and foretoken-mpi, which
// hands runs to other ranks: options, [plan] with what the options change of it, the file that
// keeps the runs, progress, tables and files.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "sim/app/named_files.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/planner/scenario_runner.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// An option that stands for a list in [plan].
struct PlanList {
  const char* option;
  const char* key;
  const char* text;
  bool is_number = false;
};

inline constexpr auto plan_lists = std::to_array<PlanList>({
    {"--gpus", "gpus", "GPUs to choose from, such as h100-sxm,l40s; as many nodes as needed"},
    {"--clusters", "clusters", "Clusters to choose from, of fixed size (names or TOML files)"},
    {"--tp", "tensor_parallel", "Tensor-parallel sizes, such as 1,2,4,8", true},
    {"--pp", "pipeline_parallel", "Pipeline-parallel sizes", true},
    {"--dp", "data_parallel_attention", "Data-parallel attention sizes", true},
    {"--ep", "expert_parallel", "Expert-parallel sizes", true},
    {"--pools", "pools", "Replicas per pool in one set, such as 1:3,2:2 (scenarios with pools)"},
    {"--preset", "preset", "Engine presets, such as vllm-v1,sglang"},
    {"--scheduler", "scheduler", "Schedulers"},
    {"--dtype", "dtype", "Weight formats, such as bf16,fp8"},
    {"--kv-dtype", "kv_dtype", "KV cache formats"},
});

struct PlanCommand {
  std::string scenario;
  std::vector<std::string> overrides;
  std::array<std::vector<std::string>, plan_lists.size()> lists;
  std::vector<std::string> changes;
  std::string out_folder, store_path, report_path, export_folder;
  std::string time_limit, margin;
  std::size_t jobs = 0;
  bool max_load = false;
  bool cheapest = false;
  bool exhaustive = false;
  bool quick = false;
  bool all = false;
  bool is_dry = false;
  bool json = false;
  bool quiet = false;
};

/// What the program that has the command brings along.
struct PlanProgram {
  SimulatingProgram simulator;
  /// Throws ConfigError if no run of the scenario could start; empty: has been asked already.
  std::function<void(const Scenario& scenario)> check;
  std::function<ScenarioRunner&(std::size_t jobs)> runner;
};

/// `jobs_text`: what --jobs means here.
void add_plan_options(CLI::App& command, PlanCommand& options, const std::string& jobs_text);

/// Returns the exit status: 0 an answer (the best that was found, if a time limit ended the
/// search), 1 none, 130 stopped by the user.
int plan(const PlanCommand& options, const PlanProgram& program);

/// The arguments that ask another foretoken to check the same question and to run nothing.
std::vector<std::string> check_arguments(const PlanCommand& options);

}  // namespace foretoken
