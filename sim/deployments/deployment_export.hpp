// All files of a deployment that was chosen: how to launch it, in every format that can say it, how
// to load it and how to compare, and the scenario they are from.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace foretoken {

struct ExportedFile {
  std::string name, text;
  std::string about;  // one line
};

struct DeploymentExport {
  std::vector<ExportedFile> files;
  std::vector<std::string> notes;  // what the files do not say
};

DeploymentExport export_deployment(const Scenario& scenario);
/// Names that the folder may get.
std::vector<std::string> exported_names();

}  // namespace foretoken
