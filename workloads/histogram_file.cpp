#include "workloads/histogram_file.hpp"

#include <fmt/ranges.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

constexpr std::string_view separators = " \t\r,;[]";
constexpr std::string_view checksum_mark = "# checksum ";
constexpr std::int64_t count_max = std::int64_t{1} << 40;
/// Each kind of step is priced for each routing once: more would cost memory and tell no more.
constexpr std::size_t histograms_max = 10'000;
constexpr std::size_t experts_max = 1 << 16;

void add(const std::vector<std::int64_t>& counts, Fingerprint& sum) {
  for (const std::int64_t count : counts) sum.add(static_cast<std::uint64_t>(count));
  sum.add(static_cast<std::uint64_t>(counts.size()));
}

std::string checksum_text(const Fingerprint& sum) { return fmt::format("{:016x}", sum.value()); }

class HistogramReader {
 public:
  HistogramReader(const std::filesystem::path& path, const SourcePosition& position)
      : file_(path), here_{path.string(), 0} {
    std::error_code unreachable;
    if (!file_ || std::filesystem::is_directory(path, unreachable))
      throw ConfigError(position, fmt::format("cannot read '{}'; check the path", path.string()));
  }

  std::vector<HistogramLines> read() {
    for (std::string line; std::getline(file_, line);) {
      ++here_.line;
      if (line.starts_with('#')) {
        take_comment(line);
      } else {
        take(line);
      }
    }
    if (open_lists_ != 0) {  // the last number may be a part of one
      throw ConfigError(current_.position,
                        "its list does not end; the file may be cut off. A list is written as "
                        "[12, 0, 3]");
    }
    check();
    return std::move(all_);
  }

 private:
  void take_comment(std::string_view line) {
    if (!line.starts_with(checksum_mark)) return;
    line.remove_prefix(checksum_mark.size());
    wanted_ = line.substr(0, line.find_last_not_of(" \t\r") + 1);
  }

  void take(std::string_view line) {
    if (open_lists_ == 0) current_ = {{}, here_, true};
    for (std::size_t at = 0; at < line.size();) {
      if (separators.find(line[at]) == std::string_view::npos) {
        at = take_count(line, at);
        continue;
      }
      open_lists_ += line[at] == '[' ? 1 : line[at] == ']' ? -1 : 0;
      if (open_lists_ < 0) {
        throw ConfigError(here_,
                          "its list does not begin; the file may be damaged. A list is written as "
                          "[12, 0, 3]");
      }
      ++at;
    }
    if (open_lists_ != 0 || current_.counts.empty()) return;
    if (all_.size() == histograms_max) {
      throw ConfigError(here_, fmt::format("at most {} histograms can be drawn from; remove some",
                                           histograms_max));
    }
    current_.ends = !file_.eof();
    all_.push_back(std::move(current_));
  }

  /// The number that begins at `at`; where it ends.
  std::size_t take_count(std::string_view line, std::size_t at) {
    std::int64_t count = 0;
    const char* const end = line.data() + line.size();
    const auto [next, error] = std::from_chars(line.data() + at, end, count);
    const bool ends = next == end || separators.find(*next) != std::string_view::npos;
    if (error != std::errc() || !ends || count < 0 || count > count_max) {
      const std::string_view rest = line.substr(at);
      throw ConfigError(here_, fmt::format("'{}' is not a count: a histogram is a list of whole "
                                           "numbers from 0, as in [12, 0, 3]",
                                           rest.substr(0, rest.find_first_of(separators))));
    }
    if (current_.counts.size() == experts_max)
      throw ConfigError(here_, fmt::format("holds more than {} counts", experts_max));
    current_.counts.push_back(count);
    return static_cast<std::size_t>(next - line.data());
  }

  void check() const {
    if (!wanted_) return;
    Fingerprint sum;
    for (const HistogramLines& each : all_) add(each.counts, sum);
    if (*wanted_ == checksum_text(sum)) return;
    throw ConfigError({here_.file},
                      "was changed: its numbers do not match its checksum. Restore a copy; if you "
                      "changed it on purpose, remove the checksum line");
  }

  std::ifstream file_;
  SourcePosition here_;
  int open_lists_ = 0;
  HistogramLines current_;
  std::vector<HistogramLines> all_;
  std::optional<std::string> wanted_;
};

}  // namespace

std::vector<HistogramLines> read_histogram_file(const std::filesystem::path& path,
                                                const SourcePosition& position) {
  return HistogramReader(path, position).read();
}

std::string histogram_file_text(std::span<const std::vector<std::int64_t>> histograms) {
  Fingerprint sum;
  std::string lines;
  for (const std::vector<std::int64_t>& counts : histograms) {
    add(counts, sum);
    lines += fmt::format("[{}]\n", fmt::join(counts, ", "));
  }
  return fmt::format("{}{}\n{}", checksum_mark, checksum_text(sum), lines);
}

}  // namespace foretoken
