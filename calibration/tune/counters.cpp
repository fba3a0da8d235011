#include "calibration/tune/counters.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "sim/base/private_folder.hpp"
#include "workloads/measurements/csv_rows.hpp"

namespace foretoken::tune {
namespace {

/// Nsight Compute's names (2025.3, Ampere to Blackwell). On an H100 the tensor pipe shows 3.5 % in
/// kernels without a tensor instruction.
constexpr std::string_view duration = "gpu__time_duration.sum";
constexpr std::string_view conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
                           shared_accesses = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
/// Where Profile has them; the bank conflicts are a quotient of two.
constexpr std::array<std::string_view, profile_size> metrics = {
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "lts__t_sector_hit_rate.pct",
    "",
    "launch__registers_per_thread"};

/// "32,768" is 32768.
double number(const CsvRows& rows, int column) {
  std::string text(rows.text(column));
  std::erase(text, ',');
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc() && end == text.data() + text.size() && std::isfinite(value)) {
    return value;
  }
  throw ConfigError(rows.position(),
                    fmt::format("{}: '{}' is not a number",
                                rows.columns()[static_cast<std::size_t>(column)], text));
}

/// The table without what Nsight Compute says around it.
std::filesystem::path table_alone(const std::filesystem::path& from, const PrivateFolder& folder) {
  const std::filesystem::path to = folder.path() / "counters.csv";
  std::ofstream file(to, std::ios::binary);
  TextLines lines(from);
  std::string_view line;
  std::string said;
  bool is_empty = true;
  while (lines.next(line)) {
    if (line.starts_with("==")) {
      if (line.starts_with("==ERROR==")) said = line;
      continue;
    }
    if (line.empty()) continue;
    is_empty = false;
    file << line << '\n';
  }
  if (is_empty) {
    throw ConfigError({from.string(), 0, 0},
                      fmt::format("holds no counters{}{}", said.empty() ? "" : ": ", said));
  }
  return to;
}

struct Columns {
  explicit Columns(const CsvRows& rows)
      : time(rows.column(duration)),
        conflicts_(rows.column(conflicts)),
        accesses(rows.column(shared_accesses)) {
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      values[i] = metrics[i].empty() ? -1 : rows.column(metrics[i]);
    }
  }
  [[nodiscard]] Profile read(const CsvRows& rows) const {
    Profile profile{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      profile[i] = values[i] >= 0
                       ? number(rows, values[i])
                       : 100 * number(rows, conflicts_) / std::max(1.0, number(rows, accesses));
    }
    return profile;
  }
  int time, conflicts_, accesses;
  std::array<int, profile_size> values{};
};

constexpr std::string_view log_header = "problem,parameters,identity,counters";

std::string key_of(const Problem& problem, const Candidate& candidate) {
  return candidate.state.empty() ? identity_of(complete(problem, candidate))
                                 : text_of(problem, candidate.state);
}

Profile profile_in(const CsvRows& rows, int column) {
  Profile profile{};
  std::string_view rest = rows.text(column);
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), profile[i]);
    const auto read = static_cast<std::size_t>(end - rest.data());
    const bool is_last = i + 1 == profile.size();
    if (problem != std::errc() || !std::isfinite(profile[i]) ||
        (is_last ? read != rest.size() : read >= rest.size() || rest[read] != ' ')) {
      throw ConfigError(rows.position(), fmt::format("counters must be {} numbers", profile_size));
    }
    rest.remove_prefix(is_last ? read : read + 1);
  }
  return profile;
}

}  // namespace

std::vector<std::string> counting_command(const std::filesystem::path& table) {
  std::string all = fmt::format("{},{},{}", duration, conflicts, shared_accesses);
  for (const std::string_view metric : metrics) {
    if (!metric.empty()) all += fmt::format(",{}", metric);
  }
  return {"ncu",
          "--clock-control",
          "none",
          "--cache-control",
          "none",
          "--csv",
          "--profile-from-start",
          "off",
          "--page",
          "raw",
          "--metrics",
          all,
          "--print-units",
          "base",
          "--log-file",
          table.string()};
}

std::vector<Profile> read_counters(const std::filesystem::path& table,
                                   std::span<const int> launches) {
  const PrivateFolder folder("foretoken-counters");
  CsvRows rows(table_alone(table, folder));
  const Columns columns(rows);
  std::vector<Profile> profiles;
  const auto next = [&] {
    if (!rows.next()) {
      throw ConfigError({table.string(), 0, 0},
                        fmt::format("has fewer rows than {} launches",
                                    std::accumulate(launches.begin(), launches.end(), 0)));
    }
  };
  next();  // units
  for (const int count : launches) {
    Profile sum{};
    double weights = 0;
    for (int i = 0; i < count; ++i) {
      next();
      const double weight = std::max(1.0, number(rows, columns.time));
      const Profile one = columns.read(rows);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += weight * one[j];
      weights += weight;
    }
    for (double& value : sum) value /= std::max(1.0, weights);
    profiles.push_back(sum);
  }
  if (rows.next()) throw ConfigError({table.string(), 0, 0}, "has more rows than launches");
  return profiles;
}

std::size_t counted_shape(const Problem& problem, const GpuSpec& gpu) {
  const double peak =
      problem.cost.tensor ? gpu.tensor_rate(DType::fp16).value() : gpu.fma_rate().value();
  std::size_t heaviest = 0;
  double longest = -1;
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    const Names names =
        names_of(problem, constants_at(problem, start_state(problem)), i, gpu.sm_count);
    const double roof = std::max(evaluate(problem.cost.flops, names) / peak,
                                 evaluate(problem.cost.bytes, names) / gpu.dram_bandwidth.value());
    if (roof > longest) {
      longest = roof;
      heaviest = i;
    }
  }
  return heaviest;
}

CounterLog::CounterLog(const std::string& path, bool may_miss) : path_(path) {
  if (may_miss && !std::filesystem::exists(path)) return;
  CsvRows rows(path);
  const int problem = rows.column("problem"), parameters = rows.column("parameters"),
            identity = rows.column("identity"), counters = rows.column("counters");
  while (rows.next()) {
    const std::string_view key = rows.text(rows.text(parameters).empty() ? identity : parameters);
    profiles_[{std::string(rows.text(problem)), std::string(key)}] = profile_in(rows, counters);
  }
}

const Profile* CounterLog::find(const Problem& problem, const Candidate& candidate) const {
  const auto found = profiles_.find({problem.name, key_of(problem, candidate)});
  return found == profiles_.end() ? nullptr : &found->second;
}

void CounterLog::add(const Problem& problem, const Candidate& candidate, const Profile& profile) {
  if (path_.ends_with(".gz")) {
    throw ConfigError({path_, 0, 0}, "is gzip, which nothing is appended to; gunzip it first");
  }
  if (!file_.is_open()) {
    const bool is_new = !std::filesystem::exists(path_);
    file_.open(path_, std::ios::app | std::ios::binary);
    if (is_new) file_ << log_header << '\n';
  }
  file_ << fmt::format("{},{},{},{:.4g}\n", problem.name,
                       candidate.state.empty() ? "" : text_of(problem, candidate.state),
                       identity_of(complete(problem, candidate)), fmt::join(profile, " "));
  if (!file_.flush()) throw ConfigError({path_, 0, 0}, "cannot be written; is the disk full?");
  profiles_[{problem.name, key_of(problem, candidate)}] = profile;
}

}  // namespace foretoken::tune
