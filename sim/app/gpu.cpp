// foretoken gpu: the GPUs that are known, one in full, and a check of a TOML file for a part that
// nobody has built.

#include "hardware/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/app/findings.hpp"
#include "sim/app/spec_value.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

std::string tera(double rate) { return rate > 0.0 ? fmt::format("{:.0f}", rate / 1e12) : "-"; }

TextTable::Layout gpu_layout() {
  return {.width = terminal_width(stdout), .colour = shows_colour(stdout), .kept = 1};
}

int print_gpus_json() {
  ValueArray gpus;
  for (const std::string& name : gpu_names()) gpus.emplace_back(gpu_value(load_gpu(name, {})));
  show_data(to_json(gpus) + "\n");
  return 0;
}

int list_gpus() {
  TextTable table({{"name", Align::left},
                   {"SMs", Align::right},
                   {"MHz", Align::right},
                   {"bf16 TFLOP/s", Align::right},
                   {"fp8", Align::right},
                   {"fp4", Align::right},
                   {"DRAM GB/s", Align::right},
                   {"memory", Align::right},
                   {"W", Align::right},
                   {"USD/h", Align::right}});
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = load_gpu(name, {});
    table.add_row(
        {gpu.name, fmt::format("{}", gpu.sm_count), fmt::format("{:.0f}", gpu.clock.value() / 1e6),
         tera(gpu.tensor_rate(DType::bf16).value()), tera(gpu.tensor_rate(DType::fp8).value()),
         tera(std::max(gpu.tensor_rate(DType::nvfp4), gpu.tensor_rate(DType::mxfp4)).value()),
         fmt::format("{:.0f}", gpu.dram_bandwidth.value() / 1e9), readable(gpu.memory_capacity),
         fmt::format("{:.0f}", gpu.power.value()),
         gpu.price ? fmt::format("{:.2f}", gpu.price->value()) : "-"});
  }
  show("{}", table.text(gpu_layout()));
  return 0;
}

int show_gpu(const std::string& name, bool is_json) {
  const GpuSpec gpu = load_gpu(name, {"gpu show"});
  if (is_json) {
    show_data(to_json(gpu_value(gpu)) + "\n");
    return 0;
  }
  TextTable table({{"", Align::left}, {.folds = true}});
  const auto row = [&](const char* key, const std::string& value) { table.add_row({key, value}); };
  const auto gigabytes = [](BytesPerSecond rate) {
    return rate > BytesPerSecond(0.0) ? fmt::format("{:.0f} GB/s", rate.value() / 1e9) : "none";
  };
  row("architecture", fmt::format("{} {}", enum_name(gpu.vendor), gpu.architecture));
  if (gpu.compute_capability > 0) {
    row("compute capability",
        fmt::format("{}.{}", gpu.compute_capability / 10, gpu.compute_capability % 10));
  }
  row("SMs", fmt::format("{} at {:.0f} MHz", gpu.sm_count, gpu.clock.value() / 1e6));
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (gpu.tensor_rate(dtype).value() <= 0.0 || is_weight_only(dtype)) continue;
    row(fmt::format("tensor {}", enum_name(dtype)).c_str(),
        fmt::format("{:.1f} TFLOP/s ({:.0f} operations per SM and cycle)",
                    gpu.tensor_rate(dtype).value() / 1e12, gpu.tensor_ops_per_cycle_sm[i]));
  }
  row("fp32 pipes", fmt::format("{:.1f} TFLOP/s", gpu.fma_rate().value() / 1e12));
  row("memory", fmt::format("{} at {}, {} reserved by the driver", readable(gpu.memory_capacity),
                            gigabytes(gpu.dram_bandwidth),
                            readable(gpu.memory_capacity - gpu.usable_memory())));
  row("L2", fmt::format("{} at {}", readable(gpu.l2_size), gigabytes(gpu.l2_bandwidth)));
  row("shared memory", fmt::format("{} per SM", readable(gpu.shared_size_sm)));
  row("NVLink", gigabytes(gpu.nvlink_bandwidth));
  row("PCIe", gigabytes(gpu.pcie_bandwidth));
  row("power", fmt::format("{:.0f} W", gpu.power.value()));
  row("launch latency", readable(gpu.launch_latency));
  row("price", gpu.price ? fmt::format("{:.2f} USD/h", gpu.price->value()) : "unknown");
  show("{} ({})\n{}", Ink(shows_colour(stdout)).strong(gpu.title), gpu.name,
       table.text(gpu_layout()));
  return 0;
}

int check_gpu_file(const std::string& path) {
  const GpuSpec gpu = load_gpu(path, {"gpu check"});
  return print_findings(path, gpu.name, check_gpu(gpu));
}

}  // namespace

void add_gpu(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("gpu", "List, show and check GPU specifications");
  command->require_subcommand(1);
  auto name = std::make_shared<std::string>();
  auto is_json = std::make_shared<bool>(false);
  CLI::App* list = command->add_subcommand("list", "List the built-in GPUs");
  list->add_flag("--json", *is_json, "Print a JSON array");
  list->callback([is_json, &chosen] { chosen = *is_json ? print_gpus_json : list_gpus; });
  CLI::App* show = command->add_subcommand("show", "Show one GPU in full");
  show->add_option("gpu", *name, "Name or TOML file")->required();
  show->add_flag("--json", *is_json, "Print a JSON object");
  show->callback(
      [name, is_json, &chosen] { chosen = [name, is_json] { return show_gpu(*name, *is_json); }; });
  CLI::App* check = command->add_subcommand(
      "check", "Report what is missing or implausible in a TOML file (status 1 if anything is)");
  check->add_option("file", *name, "TOML file")->required();
  check->callback([name, &chosen] { chosen = [name] { return check_gpu_file(*name); }; });
  command->footer(
      examples("  foretoken gpu list\n  foretoken gpu show h200-sxm\n"
               "  foretoken gpu list --json\n"
               "  foretoken gpu check examples/gpus/imaginary-x1.toml"));
}

}  // namespace foretoken
