// foretoken completion and foretoken man: what shells and man(1) want to know of the program,
// written from the parser itself. `cmake --install` puts both where they are looked for.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "hardware/cluster.hpp"
#include "hardware/gpu.hpp"
#include "kernels/tiles/tile_model.hpp"
#include "models/transformer.hpp"
#include "sim/app/command_tree.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/run/run.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

template <class Factory>
std::vector<std::string> names_of(const Registry<Factory>& registry) {
  std::vector<std::string> names;
  for (const auto& entry : registry.entries()) names.push_back(entry.name);
  return names;
}

/// Tables and keys as `foretoken keys` takes them.
std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const std::string& key : settable_keys()) {
    const std::string table = key.substr(0, key.rfind('.'));
    if (std::ranges::find(names, table) == names.end()) names.push_back(table);
  }
  for (const std::string& key : settable_keys()) names.push_back(key);
  return names;
}

/// Beginnings of what --set takes.
std::vector<std::string> assignments() {
  std::vector<std::string> out = settable_keys();
  for (std::string& key : out) key += '=';
  return out;
}

std::vector<CompletedValues> completed_values() {
  const Catalogs catalogs;
  return {{"model", names_of(tile_model_catalog()), "select"},
          {"gpu", gpu_names()},
          {"gpus", gpu_names()},
          {"model", model_names()},
          {"cluster", cluster_names()},
          {"clusters", cluster_names()},
          {"predictor", names_of(catalogs.predictors)},
          {"scheduler", names_of(catalogs.schedulers)},
          {"preset", engine_preset_names()},
          {"table", key_names()},
          {.argument = "set", .values = assignments(), .goes_on = true},
          {"shell", {"bash", "zsh", "fish"}}};
}

int print_completion(const CLI::App& program, const std::string& shell) {
  const CommandTree tree = command_tree(program);
  const std::vector<CompletedValues> values = completed_values();
  if (shell == "bash") show_data(bash_completion(tree, values));
  if (shell == "zsh") show_data(zsh_completion(tree, values));
  if (shell == "fish") show_data(fish_completion(tree, values));
  return 0;
}

}  // namespace

void add_completion(CLI::App& program, Action& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      program.add_subcommand("completion", "Print completions for bash, zsh or fish");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      examples("  source <(foretoken completion bash)\n"
               "  source <(foretoken completion zsh)\n"
               "  foretoken completion fish | source"));
  command->callback([shell, &program, &chosen] {
    chosen = [shell, &program] { return print_completion(program, *shell); };
  });
}

void add_man(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("man", "Print the man page");
  command->footer(examples("  foretoken man | man -l -"));
  command->callback([&program, &chosen] {
    chosen = [&program] {
      show_data(man_page(command_tree(program), version()));
      return 0;
    };
  });
}

}  // namespace foretoken
