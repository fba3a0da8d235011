#include "calibration/tune/evaluation_log.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>

#include "sim/base/fingerprint.hpp"
#include "workloads/requests/text_lines.hpp"

namespace foretoken::tune {
namespace {

constexpr std::string_view header =
    "problem,parameters,identity,status,compile_ms,kernels,us,detail";

std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t end = text.find(separator);
    found.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return found;
    text.remove_prefix(end + 1);
  }
}

/// A number from `low` to `high`; infinities and NaN are none.
double number(std::string_view text, double low, double high, const SourcePosition& position) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) {
    throw ConfigError(position, fmt::format("'{}' is not a number", text));
  }
  if (!(value >= low && value <= high)) {
    throw ConfigError(position, fmt::format("{} is not from {} to {}", text, low, high));
  }
  return value;
}

// What no launch and no compilation comes near.
constexpr double microseconds_min = 1e-6, microseconds_max = 1e12;
constexpr double resource_max = 1 << 30;
constexpr double blocks_max = 1e18;

std::string shapes_key(std::string_view problem) { return fmt::format("shapes.{}", problem); }

/// A hash of the shapes, as 16 hexadecimal digits.
std::string shapes_mark(const Problem& problem) {
  Fingerprint fingerprint;
  for (const Shape& shape : problem.shapes) {
    fingerprint.add(std::uint64_t{shape.size()});
    for (const std::int64_t size : shape) fingerprint.add(static_cast<std::uint64_t>(size));
  }
  return fmt::format("{:016x}", fingerprint.value());
}

}  // namespace

std::string to_line(const LogEntry& entry) {
  const Evaluation& evaluation = entry.evaluation;
  std::string kernels, times, detail = evaluation.detail;
  for (const KernelResources& kernel : evaluation.kernels) {
    kernels += fmt::format("{}{}:{}:{}:{}:{}:{:.0f}", kernels.empty() ? "" : " ", kernel.registers,
                           kernel.shared_bytes, kernel.local_bytes, kernel.threads,
                           kernel.blocks_per_sm, kernel.blocks);
  }
  for (const double seconds : evaluation.seconds) {
    times += fmt::format("{}{:.5g}", times.empty() ? "" : " ", seconds * 1e6);
  }
  std::ranges::replace_if(
      detail, [](char c) { return c == ',' || c == '\n' || c == '\r'; }, ' ');
  constexpr std::size_t detail_max = 200;
  detail.resize(std::min(detail.size(), detail_max));
  return fmt::format("{},{},{},{},{:.0f},{},{},{}", entry.problem, entry.parameters, entry.identity,
                     name_of(evaluation.status), evaluation.compile_seconds * 1e3, kernels, times,
                     detail);
}

LogEntry from_line(std::string_view line, const SourcePosition& position) {
  const auto columns = pieces(line, ',');
  if (columns.size() != 8) {
    throw ConfigError(position, fmt::format("has {} columns, not 8", columns.size()));
  }
  LogEntry entry{std::string(columns[0]), std::string(columns[1]), std::string(columns[2]), {}};
  Evaluation& evaluation = entry.evaluation;
  evaluation.status = status_named(columns[3], position);
  evaluation.compile_seconds = number(columns[4], 0, microseconds_max, position) * 1e-3;
  if (!columns[5].empty()) {
    for (const std::string_view kernel : pieces(columns[5], ' ')) {
      const auto fields = pieces(kernel, ':');
      if (fields.size() != 6) throw ConfigError(position, "a kernel has 6 numbers");
      const auto whole = [&](int i) {
        return static_cast<int>(
            number(fields[static_cast<std::size_t>(i)], 0, resource_max, position));
      };
      evaluation.kernels.push_back({whole(0), whole(1), whole(2), whole(3), whole(4),
                                    number(fields[5], 1, blocks_max, position)});
    }
  }
  if (!columns[6].empty()) {
    for (const std::string_view time : pieces(columns[6], ' ')) {
      evaluation.seconds.push_back(number(time, microseconds_min, microseconds_max, position) *
                                   1e-6);
    }
  }
  if (evaluation.status == Status::ok &&
      (evaluation.kernels.empty() || evaluation.seconds.empty())) {
    throw ConfigError(position, "an implementation that ran has kernels and times");
  }
  evaluation.detail = columns[7];
  return entry;
}

EvaluationLog EvaluationLog::load(const std::string& path, bool may_miss) {
  EvaluationLog log;
  log.path_ = path;
  if (may_miss && !std::filesystem::exists(path)) return log;
  TextLines lines(path);
  std::string_view line;
  while (lines.next(line)) {
    if (lines.is_unended()) break;  // the writer was killed there
    if (line.starts_with('#')) {
      const std::size_t start = line.find_first_not_of("# "), equals = line.find('=');
      if (start != std::string_view::npos && equals != std::string_view::npos && start < equals) {
        log.notes_[std::string(line.substr(start, equals - start))] = line.substr(equals + 1);
      }
    } else if (!line.empty() && line != header) {
      log.add(from_line(line, {path, lines.number(), 0}));
    }
  }
  return log;
}

void EvaluationLog::check_shapes(const Problem& problem) const {
  const auto said = notes_.find(shapes_key(problem.name));
  if (said == notes_.end() || said->second == shapes_mark(problem)) return;
  throw ConfigError({path_, 0, 0}, fmt::format("its times of {} are of other shapes: name them "
                                               "with --shapes",
                                               problem.name));
}

void EvaluationLog::add(LogEntry entry) {
  if (!entry.parameters.empty()) {
    identities_[{entry.problem, entry.parameters}] = entry.identity;
  }
  std::pair key(entry.problem, entry.identity);
  entries_.insert_or_assign(std::move(key), std::move(entry));
}

const LogEntry* EvaluationLog::find(std::string_view problem, std::string_view identity) const {
  const auto found = entries_.find({std::string(problem), std::string(identity)});
  return found == entries_.end() ? nullptr : &found->second;
}

const LogEntry* EvaluationLog::find_state(std::string_view problem,
                                          std::string_view parameters) const {
  const auto found = identities_.find({std::string(problem), std::string(parameters)});
  return found == identities_.end() ? nullptr : find(problem, found->second);
}

EvaluationLogWriter::EvaluationLogWriter(const std::string& path,
                                         const std::map<std::string, std::string>& notes)
    : path_(path) {
  std::string before;
  if (std::ifstream existing(path, std::ios::binary); existing) {
    before.assign(std::istreambuf_iterator<char>(existing), {});
  }
  // A line that was cut off must not swallow the next one.
  const std::size_t whole = before.rfind('\n') + 1;
  if (whole < before.size()) std::filesystem::resize_file(path, whole);
  file_.open(path, std::ios::app | std::ios::binary);
  if (whole == 0) {
    for (const auto& [key, value] : notes) file_ << "# " << key << '=' << value << '\n';
    file_ << header << '\n';
  }
  if (!file_.flush()) throw ConfigError({path, 0, 0}, "cannot be written");
}

void EvaluationLogWriter::add(const LogEntry& entry, const Problem& problem,
                              const EvaluationLog& before) {
  const std::string key = shapes_key(problem.name);
  if (noted_.insert(problem.name).second && !before.notes().contains(key)) {
    file_ << "# " << key << '=' << shapes_mark(problem) << '\n';
  }
  file_ << to_line(entry) + '\n';
  if (!file_.flush()) throw ConfigError({path_, 0, 0}, "cannot be written; is the disk full?");
}

}  // namespace foretoken::tune
