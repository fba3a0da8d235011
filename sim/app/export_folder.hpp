// --export DIR: how to launch what was simulated, in every format that can say it.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "sim/base/output_file.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// `what`: "the scenario", "the cheapest deployment".
void add_export_option(CLI::App& command, std::string& folder, const std::string& what);
/// Before anything runs: whether the folder can be written to.
void expect_export(const std::filesystem::path& folder, Outputs& outputs);
/// Adds the files, and returns what is to be said of them.
std::string write_export(const std::filesystem::path& folder, const Scenario& scenario,
                         Outputs& outputs, int width);

}  // namespace foretoken
