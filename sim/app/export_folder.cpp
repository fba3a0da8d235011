#include "sim/app/export_folder.hpp"

#include <fmt/format.h>

#include "sim/deployments/deployment_export.hpp"
#include "sim/report/terminal_text.hpp"

namespace foretoken {

void add_export_option(CLI::App& command, std::string& folder, const std::string& what) {
  command.add_option(
      "--export", folder,
      fmt::format("Write the launch script, manifests and load-test command of {} to this folder",
                  what));
}

void expect_export(const std::filesystem::path& folder, Outputs& outputs) {
  if (!folder.empty()) outputs.expect_in(folder, exported_names());
}

std::string write_export(const std::filesystem::path& folder, const Scenario& scenario,
                         Outputs& outputs, int width) {
  const DeploymentExport files = export_deployment(scenario);
  std::string names;
  for (const ExportedFile& file : files.files) {
    outputs.write(folder / file.name, file.text);
    names += (names.empty() ? "" : ", ") + file.name;
  }
  std::string text = folded(fmt::format("Wrote {} to {}", names, folder.string()), width, 2) + "\n";
  for (const std::string& note : files.notes) text += folded("note: " + note, width, 2) + "\n";
  return text;
}

}  // namespace foretoken
