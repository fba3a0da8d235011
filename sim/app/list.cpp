// foretoken list: every family of variants with one line each, and how many specs there are.

#include <fmt/format.h>

#include "hardware/cluster.hpp"
#include "hardware/gpu.hpp"
#include "models/transformer.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/app/terminal.hpp"
#include "sim/report/text_table.hpp"
#include "sim/run/run.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "workloads/requests/arrival_process.hpp"
#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

template <class Factory>
void print_family(const Registry<Factory>& registry, const char* key) {
  const Ink ink(shows_colour(stdout));
  fmt::print("{} {}\n", ink.strong(registry.kind()), ink.quiet(key));
  TextTable table({{"", Align::left}, {"", Align::left}});
  for (const auto& entry : registry.entries()) table.add_row({entry.name, entry.summary});
  fmt::print("{}\n", table.text({.width = terminal_width(stdout), .colour = shows_colour(stdout)}));
}

void print_presets() {
  const Ink ink(shows_colour(stdout));
  fmt::print("{} {}\n", ink.strong("engine preset"), ink.quiet("[engine] preset"));
  TextTable table({{"", Align::left}, {"", Align::left}});
  for (const std::string& name : engine_preset_names()) {
    table.add_row({name, load_engine_preset(name, {}).summary});
  }
  fmt::print("{}\n", table.text({.width = terminal_width(stdout), .colour = shows_colour(stdout)}));
}

int list_everything() {
  const Catalogs catalogs;
  print_family(catalogs.predictors, "[predictor] name");
  print_family(catalogs.schedulers, "[engine] scheduler");
  print_presets();
  print_family(catalogs.routers, "[deployment] router");
  print_family(arrival_registry(), "[workload] arrivals");
  print_family(length_registry(), "[workload] prompt_tokens, output_tokens: distribution");
  print_family(trace_format_registry(), "[workload] trace_format");
  fmt::print(
      "{} GPUs (foretoken gpu list), {} models (foretoken model list), {} clusters (foretoken "
      "cluster list)\n",
      gpu_names().size(), model_names().size(), cluster_names().size());
  return 0;
}

}  // namespace

void add_list(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand(
      "list", "Every scheduler, router, predictor and kind of traffic, one line each");
  command->callback([&chosen] { chosen = list_everything; });
}

}  // namespace foretoken
