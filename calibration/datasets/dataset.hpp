// Measured launches, whatever file they came from: our own CSVs (README.md beside this header) or
// the formats of FORETOKEN_DATA. A sample is a kernel, the GPU it ran on and how long it took;
// everything that trains, fits or evaluates starts from a Dataset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

struct Sample {
  Kernel kernel;            // implementation included
  std::string gpu;          // "h100-sxm"
  Seconds time;             // median
  std::string source_name;  // the implementation as the file calls it
  std::string origin;       // "aiconfigurator", "foretoken_h200", "flashinfer_h200"
  /// What must not stand on both sides of a split: "(n,k)" of a GEMM, heads of an attention,
  /// experts and sharding of a MoE layer. Rows of one layout are near copies of each other.
  std::string layout;
  int file = -1;            // index into Dataset::files
  bool is_doubted = false;  // contradicts both neighbours (doubted_rows.hpp): judges, never trains
};

/// A file that samples came from.
struct DatasetFile {
  std::string name;     // below the folder it was found in: "kernels/l40s/moe_perf.vllm.csv.gz"
  std::string hash;     // of its bytes, 16 hexadecimal digits: tells versions apart
  bool is_own = false;  // measured by this project, not by others
};

struct Dataset {
  std::vector<Sample> samples;
  std::vector<DatasetFile> files;
  std::int64_t rows_left_out = 0;  // known to be unusable (datasets/exclusions.cpp says why)
};

/// Which samples to keep while files are read; the whole of FORETOKEN_DATA takes 1 GB as samples.
using KeepSample = std::function<bool(const Sample&)>;

/// Appends `other`; its samples' files come after those of `dataset`.
void append(Dataset& dataset, Dataset&& other);

/// Everything below a FORETOKEN_DATA folder that is a kernel measurement. Unusable rows are left
/// out, samples that `keep` refuses too. Attention of equal sequences comes as sums.
Dataset load_foretoken_data(const std::filesystem::path& folder, const KeepSample& keep = {});

/// Our own measurements, calibration/datasets/<gpu>/*.csv[.gz]: `path` is a folder with such files
/// somewhere below it, or one file. `gpu` (a name, or a TOML file's path) is where they were
/// measured; "" = as the files say. A file that says otherwise is a ConfigError.
Dataset load_own_measurements(const std::filesystem::path& path, const KeepSample& keep = {},
                              const std::string& gpu = "");

/// Whether `layout` belongs to the held-out share (about 15 %), by a hash of its text.
bool is_held_out_layout(const std::string& layout);

/// The layout without how it is sharded: "h4096 i14336 top2 of 8" of a MoE layer, which is what a
/// new model brings; of other kernels the layout itself.
std::string_view unsharded_layout(std::string_view layout);

}  // namespace foretoken
