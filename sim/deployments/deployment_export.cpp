#include "sim/deployments/deployment_export.hpp"

#include "sim/base/toml.hpp"
#include "sim/deployments/bench_script.hpp"
#include "sim/deployments/deployment_format.hpp"
#include "sim/deployments/scenario_servers.hpp"

namespace foretoken {
namespace {

std::string readme_of(const DeploymentExport& files) {
  std::string text = "# A deployment as predicted by `foretoken`\n\n";
  for (const ExportedFile& file : files.files)
    text += fmt::format("- `{}`: {}\n", file.name, file.about);
  if (files.notes.empty()) return text;
  text += "\n## Not in these files\n";
  for (const std::string& note : files.notes) text += fmt::format("- {}\n", note);
  return text;
}

void add_bench(const Scenario& scenario, const LaunchedDeployment& deployment,
               DeploymentExport& out) {
  const BenchScript bench = bench_script(scenario, deployment);
  out.files.push_back(
      {"bench.sh", bench.text, "the same traffic from a load tool, compared with the prediction"});
  if (!bench.traffic.empty())
    out.files.push_back({"traffic.jsonl", bench.traffic, "the requests, in Mooncake's format"});
  out.notes.insert(out.notes.end(), bench.notes.begin(), bench.notes.end());
}

}  // namespace

DeploymentExport export_deployment(const Scenario& scenario) {
  DeploymentExport out;
  const LaunchedDeployment deployment = servers_of(scenario);
  out.notes = deployment.notes;
  out.files.push_back({"scenario.toml", to_toml(resolved_scenario(scenario)),
                       "what was simulated: `foretoken simulate scenario.toml`"});
  if (scenario.workload->has_media()) {
    out.notes.emplace_back(
        "bench.sh sends text only: add images and audio by hand (vllm bench serve "
        "has "
        "--dataset-name random-mm)");
  }
  const DeploymentFormatRegistry formats = deployment_format_registry();
  for (const auto& entry : formats.entries()) {
    const std::unique_ptr<DeploymentFormat> format = entry.make();
    const std::string obstacle = format->obstacle(deployment);
    if (!obstacle.empty()) {
      out.notes.push_back(fmt::format("no {}: {}", format->file_name(), obstacle));
    } else {
      out.files.push_back({format->file_name(), format->write(deployment), entry.summary});
    }
  }
  if (deployment.has_models()) {
    out.notes.push_back(
        fmt::format("no bench.sh: load tools test one model at a time; export each with --set "
                    "run.only_model={}",
                    fmt::join(served_models(scenario), " and ")));
  } else {
    add_bench(scenario, deployment, out);
  }
  out.files.push_back({"README.md", readme_of(out), "this list"});
  return out;
}

std::vector<std::string> exported_names() {
  std::vector<std::string> names = {"scenario.toml", "bench.sh", "traffic.jsonl", "README.md"};
  const DeploymentFormatRegistry formats = deployment_format_registry();
  for (const auto& entry : formats.entries()) names.push_back(entry.make()->file_name());
  return names;
}

}  // namespace foretoken
