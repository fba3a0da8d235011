// The contract of the importers of communication: one file a format (importers/), which appends a
// file's rows to a dataset. comm_dataset.cpp says which files are whose.
#pragma once

#include <filesystem>
#include <string>

#include "calibration/datasets/comm_dataset.hpp"
#include "workloads/measurements/csv_rows.hpp"

namespace foretoken {

struct CommFile {
  std::filesystem::path path;
  std::string gpu;
  std::string version;
};

// AIConfigurator's tables. nccl_perf and custom_allreduce_perf count elements and milliseconds.
void import_nccl_perf(const CommFile& file, CommDataset& dataset);
void import_custom_allreduce_perf(const CommFile& file, CommDataset& dataset);
// DeepEP's own benchmarks; microseconds.
void import_deepep_normal(const CommFile& file, CommDataset& dataset);
void import_deepep_low_latency(const CommFile& file, CommDataset& dataset);
// Vidur's profiles of NCCL through PyTorch; bytes and milliseconds.
void import_vidur_collective(const CommFile& file, CommDataset& dataset);
// PipeWeave's, likewise.
void import_pipeweave_collective(const CommFile& file, CommDataset& dataset);
// Our own format.
void import_own_comm(const CommFile& file, CommDataset& dataset);

}  // namespace foretoken
