// Tables of measurements in formats of their own: which files there are, and of which GPU they are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/measurements/csv_rows.hpp"

namespace foretoken {

/// Files called .csv or .csv.gz at `path`, or anywhere below it, in the order of their names.
std::vector<std::filesystem::path> csv_files(const std::filesystem::path& path);

/// The GPU inside the program whose title begins as the driver names the card ("NVIDIA H200") in
/// the file's provenance, with as many SMs. Throws ConfigError where there is none.
std::string measured_gpu(const CsvRows& rows);

}  // namespace foretoken
