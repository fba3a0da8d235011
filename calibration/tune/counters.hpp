// Profiles of hardware counters, as Nsight Compute reads them: the nine numbers of Equation 6 as
// the paper's authors collect them. A launch takes several passes and a process a few seconds, so
// that counting is asked for (`run --counters`, `count`). What was counted is kept in a file by
// kernel and parameters, with which the same search repeats without the GPU.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/tune/evaluator.hpp"

namespace foretoken::tune {

/// `ncu` and what it is to count, before the command that is to be counted. Its table goes to
/// `table`; clocks and caches stay as they are when kernels are timed.
std::vector<std::string> counting_command(const std::filesystem::path& table);

/// Profiles out of Nsight Compute's table (--csv --page raw): the first launches[0] rows are the
/// first candidate's, and so on; a candidate's launches count by their time. Throws ConfigError
/// where a counter is missing, no number, or rows are more or fewer than launches.
std::vector<Profile> read_counters(const std::filesystem::path& table,
                                   std::span<const int> launches);

/// The shape that a problem is counted on: the one with the longest roof on this GPU.
std::size_t counted_shape(const Problem& problem, const GpuSpec& gpu);

/// "problem,parameters,identity" and nine numbers a line; plain, to read also gzip.
class CounterLog {
 public:
  /// A file that is not there is empty if `may_miss`. Throws ConfigError for anything else in it.
  explicit CounterLog(const std::string& path, bool may_miss = false);

  [[nodiscard]] const Profile* find(const Problem& problem, const Candidate& candidate) const;
  [[nodiscard]] std::size_t size() const { return profiles_.size(); }
  /// Also written to the file, at once. Throws ConfigError where the disk refuses.
  void add(const Problem& problem, const Candidate& candidate, const Profile& profile);

 private:
  using Key = std::pair<std::string, std::string>;  // problem; parameters, or identity
  std::string path_;
  std::ofstream file_;
  std::map<Key, Profile> profiles_;
};

/// Evaluations of `inner` with the counters that `path` has; points of the space without any are
/// not known.
std::unique_ptr<Evaluator> make_counted(std::unique_ptr<Evaluator> inner, const std::string& path);
/// Counts on this machine's GPU what `path` does not hold yet, and appends it there. Throws
/// ConfigError where counters cannot be read.
std::unique_ptr<Evaluator> make_counting(std::unique_ptr<Evaluator> inner, const std::string& path,
                                         std::vector<std::string> device_command);

}  // namespace foretoken::tune
