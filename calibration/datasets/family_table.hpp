// The samples of one estimator family as numbers: features, first-order time and measured time.
// Built by the same functions that price kernels, so that what is trained is what is priced.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibration/datasets/dataset.hpp"
#include "kernels/estimators/estimator.hpp"

namespace foretoken {

/// Models (layouts before sharding) are held out in turn, each in one of so many draws.
inline constexpr int model_draws = 5;

struct FamilyRow {
  int gpu = 0;          // index into FamilyTable::gpus
  int source = 0;       // index into FamilyTable::sources
  int file = -1;        // index into FamilyTable::files
  bool is_own = false;  // from the project's own measurements
  bool is_held_out = false;
  bool is_doubted = false;   // Sample::is_doubted
  int model_draw = 0;        // which of model_draws holds out the layout before sharding
  std::uint64_t layout = 0;  // hash of the layout
  double measured = 0;       // s
  double first_order = 0;    // s
  double cold_extra = 0;     // s; 0 for a warm sample
  /// log((measured - cold_extra) / first_order): what a network learns.
  double log_ratio = 0;
};

struct FamilyTable {
  const EstimatorFamily* family = nullptr;
  std::size_t features = 0;   // a row
  std::vector<float> inputs;  // rows x features, row by row
  std::vector<FamilyRow> rows;
  std::vector<std::string> gpus;
  std::vector<GpuSpec> specs;        // of these GPUs
  std::vector<std::string> sources;  // "vllm FlashAttention …": framework and the file's own name
  std::vector<DatasetFile> files;    // of the whole dataset
  std::vector<Kernel> kernels;       // of each row, if asked for
  std::int64_t unpriced = 0;         // samples without first-order time on their GPU

  [[nodiscard]] std::span<const float> input(std::size_t row) const {
    return std::span(inputs).subspan(row * features, features);
  }
  /// The rows that `indices` name, as a table.
  [[nodiscard]] FamilyTable subset(std::span<const std::size_t> indices) const;
};

/// GPU specs by name or path, each loaded once.
class GpuSpecs {
 public:
  const GpuSpec& find(const std::string& name);

 private:
  std::map<std::string, GpuSpec, std::less<>> specs_;
};

/// The samples that `family` prices (the first family to cover them). `with_kernels` keeps the
/// kernels too, for other predictors to price.
FamilyTable tabulate(const EstimatorFamily& family, const Dataset& dataset,
                     bool with_kernels = false);

/// Tables of all of `families` from one pass over the samples, in their order.
std::vector<FamilyTable> tabulate_all(const std::vector<const EstimatorFamily*>& families,
                                      const Dataset& dataset, bool with_kernels = false);

/// `indices` of a table that holds kernels, with T and features of another family for the same
/// kernels (a baseline); rows that it cannot price are left out.
FamilyTable retabulated(const FamilyTable& table, std::span<const std::size_t> indices,
                        const EstimatorFamily& family);

/// The family called `name`; a ConfigError lists the known ones.
const EstimatorFamily& find_family(const std::string& name);

}  // namespace foretoken
