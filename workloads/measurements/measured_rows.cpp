// Turns rows into cases and lets the reader of cases judge them. Text becomes the value that a case
// would hold: "128" a number, "1*3|7" the list 1, 1, 1, 7, "bf16" a word.
#include "workloads/measurements/measured_rows.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "hardware/gpu.hpp"
#include "sim/base/json.hpp"
#include "workloads/requests/text_lines.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t list_entries_max = 1'000'000;  // sequences, or experts, of one launch

Value scalar(std::string_view cell, const SourcePosition& position) {
  std::int64_t integer = 0;
  double number = 0;
  const char* const end = cell.data() + cell.size();
  Value value;
  if (const auto read = std::from_chars(cell.data(), end, integer);
      read.ec == std::errc() && read.ptr == end) {
    value = Value(integer);
  } else if (const auto real = std::from_chars(cell.data(), end, number);
             real.ec == std::errc() && real.ptr == end) {
    value = Value(number);
  } else if (cell == "true" || cell == "false") {
    value = Value(cell == "true");
  } else {
    value = Value(std::string(cell));
  }
  value.position = position;
  return value;
}

/// "1*3|7" → 1, 1, 1, 7.
Value list(std::string_view column, std::string_view cell, const SourcePosition& position) {
  ValueArray values;
  while (!cell.empty()) {
    const std::string_view part = cell.substr(0, cell.find('|'));
    cell.remove_prefix(std::min(cell.size(), part.size() + 1));
    const std::size_t star = part.find('*');
    std::int64_t count = 1;
    if (star != std::string_view::npos) {
      const char* const end = part.data() + part.size();
      const auto read = std::from_chars(part.data() + star + 1, end, count);
      if (read.ec != std::errc() || read.ptr != end || count < 1) {
        throw ConfigError(position,
                          fmt::format("{}: '{}' must be value*count", column, std::string(part)));
      }
    }
    if (static_cast<std::int64_t>(values.size()) + count > list_entries_max) {
      throw ConfigError(position,
                        fmt::format("{}: more than {} entries", column, list_entries_max));
    }
    values.insert(values.end(), static_cast<std::size_t>(count),
                  scalar(part.substr(0, star), position));
  }
  Value value(std::move(values));
  value.position = position;
  return value;
}

Value cell_value(std::string_view column, std::string_view cell, const SourcePosition& position) {
  if (column == "query_tokens" || column == "context_tokens" || column == "histogram") {
    return list(column, cell, position);
  }
  const bool is_flag = column == "causal" || column == "cold";  // may be written as 0 or 1
  if (is_flag && cell == "0") return scalar("false", position);
  if (is_flag && cell == "1") return scalar("true", position);
  return scalar(cell, position);
}

/// "NVIDIA A100-SXM4-80GB" → {"nvidia", "a100", "sxm4", "80gb"}.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == '-') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return words;
}

bool is_model_number(const std::string& word) {
  return std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// How many words of a built-in GPU's name the driver's name has; 0 unless all its model numbers
/// are among them.
int words_shared(const std::string& gpu, const std::vector<std::string>& driver_words) {
  int shared = 0;
  for (const std::string& word : words_of(gpu)) {
    const bool is_there = std::ranges::any_of(driver_words, [&](const std::string& other) {
      return is_model_number(word) ? other == word : other.starts_with(word);
    });
    if (!is_there && is_model_number(word)) return 0;
    shared += is_there ? 1 : 0;
  }
  return shared;
}

double sound_time(double time_us, const SourcePosition& position,
                  std::string_view column = "time_us") {
  if (std::isfinite(time_us) && time_us > 0) return time_us * 1e-6;
  throw ConfigError(position, fmt::format("{}: must be above 0, not {}", column, time_us));
}

std::string text_member(const Value& object, std::string_view key) {
  const Value* const found = object.find(key);
  const auto* const text = found != nullptr ? std::get_if<std::string>(&found->data) : nullptr;
  return text != nullptr ? *text : "";
}

/// Mistakes of a case that carry no position of their own get the row's.
KernelCase read_case_at(const Value& object, const SourcePosition& position) {
  try {
    return read_kernel_case(object);
  } catch (const ConfigError& error) {
    std::string text;
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      if (!text.empty()) text += "; ";
      text += diagnostic.message;
    }
    throw ConfigError(position, text);
  }
}

/// The first columns as a case, the GPU's left out.
Value row_case(const CsvRows& rows, int case_columns) {
  Value object;
  object.position = rows.position();
  for (int i = 0; i < case_columns; ++i) {
    const std::string& column = rows.columns()[static_cast<std::size_t>(i)];
    if (column == "gpu" || rows.text(i).empty()) continue;
    object.set(column, cell_value(column, rows.text(i), object.position));
  }
  return object;
}

}  // namespace

std::string measured_gpu(const CsvRows& rows, const fs::path& path) {
  if (const auto spec = rows.provenance("gpu_spec"); !spec.empty()) return std::string(spec);
  const auto driver_words = words_of(rows.provenance("gpu"));
  const std::string units(rows.provenance("sm_count"));
  std::string best;
  int best_shared = 0;
  for (const std::string& name : gpu_names()) {
    const int shared = words_shared(name, driver_words);
    if (shared <= best_shared) continue;
    if (units.empty() || fmt::format("{}", load_gpu(name, {}).sm_count) == units) {
      best = name;
      best_shared = shared;
    }
  }
  if (!best.empty()) return best;
  throw ConfigError({path.string()},
                    fmt::format("no known GPU is called '{}'{}; add a line '# gpu_spec: NAME'",
                                rows.provenance("gpu"),
                                units.empty() ? "" : fmt::format(" and has {} SMs", units)));
}

int case_column_count(const CsvRows& rows) {
  const int time = rows.find("time_us");
  return time >= 0 ? time : static_cast<int>(rows.columns().size());
}

Kernel row_kernel(const CsvRows& rows, int case_columns) {
  return read_case_at(row_case(rows, case_columns), rows.position()).kernel;
}

bool is_aside(const CsvRows& rows) {
  const int pass = rows.find("pass"), fast = rows.find("fast_accumulation");
  return (pass >= 0 && rows.text(pass) == "1") || (fast >= 0 && rows.text(fast) == "0");
}

class MeasuredRows::Source {
 public:
  virtual ~Source() = default;
  virtual bool next(MeasuredLaunch& launch) = 0;
};

class MeasuredRows::CsvSource final : public Source {
 public:
  CsvSource(const fs::path& path, std::string gpu)
      : rows_(path),
        time_(rows_.column("time_us")),
        warm_(rows_.find("warm_us")),
        source_(rows_.find("kernel_source")),
        gpu_column_(rows_.find("gpu")),
        gpu_(std::move(gpu)) {
    if (rows_.column("kernel") > time_) {
      throw ConfigError({path.string()}, "the columns of the case must come before time_us");
    }
    if (gpu_.empty() && gpu_column_ < 0) gpu_ = measured_gpu(rows_, path);
    for (int i = 0; i < time_; ++i) says_cold_ = says_cold_ || name(i) == "cold";
  }

  bool next(MeasuredLaunch& launch) override {
    if (!rows_.next()) return false;
    launch = {};
    launch.position = rows_.position();
    launch.kernel = row_kernel(rows_, time_);
    if (!says_cold_) set_cold(launch.kernel, true);
    launch.gpu = gpu_.empty() ? std::string(rows_.text(gpu_column_)) : gpu_;
    launch.is_aside = is_aside(rows_);
    read_times(launch);
    if (source_ >= 0) launch.source_name = rows_.text(source_);
    return true;
  }

 private:
  [[nodiscard]] const std::string& name(int column) const {
    return rows_.columns()[static_cast<std::size_t>(column)];
  }

  void read_times(MeasuredLaunch& launch) const {
    std::optional<Seconds> warm;
    if (warm_ >= 0 && !rows_.text(warm_).empty()) {
      warm = Seconds(sound_time(rows_.number(warm_), launch.position, "warm_us"));
    }
    if (!warm || !rows_.text(time_).empty()) {
      launch.time = Seconds(sound_time(rows_.number(time_), launch.position));
      launch.warm_time = warm;
      return;
    }
    launch.time = *warm;
    set_cold(launch.kernel, false);
    // A kernel type that cannot say that it is warm: its prices are cold.
    launch.is_aside = launch.is_aside || !cold_state(launch.kernel);
  }

  CsvRows rows_;
  int time_, warm_, source_, gpu_column_;
  std::string gpu_;
  bool says_cold_ = false;
};

class MeasuredRows::JsonSource final : public Source {
 public:
  JsonSource(const fs::path& path, std::string gpu)
      : path_(path.string()), lines_(path), gpu_(std::move(gpu)) {}

  bool next(MeasuredLaunch& launch) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
    } while (line.find_first_not_of(" \t") == std::string_view::npos);
    launch = {};
    launch.position = {path_, lines_.number()};
    const Value object = parse(line, launch.position);
    launch.kernel = read_case_at(object, launch.position).kernel;
    if (object.find("cold") == nullptr) set_cold(launch.kernel, true);
    launch.time = Seconds(sound_time(time_us(object, launch.position), launch.position));
    launch.gpu = gpu_.empty() ? text_member(object, "gpu") : gpu_;
    if (launch.gpu.empty()) {
      throw ConfigError(launch.position,
                        "'gpu' is missing: name the GPU that this was measured on");
    }
    launch.source_name = text_member(object, "kernel_source");
    launch.id = text_member(object, "id");
    return true;
  }

 private:
  static Value parse(std::string_view line, const SourcePosition& position) {
    try {
      return parse_json(line, {});
    } catch (const ConfigError& error) {
      throw ConfigError(position, error.diagnostics().front().message);
    }
  }

  static double time_us(const Value& object, const SourcePosition& position) {
    const Value* const time = object.find("time_us");
    if (time == nullptr) {
      throw ConfigError(position, "'time_us' is missing: how long the launch took");
    }
    if (const auto* number = std::get_if<double>(&time->data)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(&time->data)) {
      return static_cast<double>(*number);
    }
    throw ConfigError(position, "time_us: must be a number");
  }

  std::string path_;
  TextLines lines_;
  std::string gpu_;
};

namespace {

bool is_csv(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz");
}

}  // namespace

MeasuredRows::MeasuredRows(const fs::path& path, std::string gpu) {
  if (is_csv(path)) {
    source_ = std::make_unique<CsvSource>(path, std::move(gpu));
  } else {
    source_ = std::make_unique<JsonSource>(path, std::move(gpu));
  }
}

MeasuredRows::~MeasuredRows() = default;

bool MeasuredRows::next(MeasuredLaunch& launch) { return source_->next(launch); }

bool MeasuredRows::is_dataset(const CsvRows& rows) {
  return rows.provenance("format") == dataset_format && rows.find("kernel") >= 0 &&
         rows.find("time_us") >= 0;
}

std::vector<fs::path> measured_files(const fs::path& path) {
  std::error_code unreachable;
  if (fs::is_regular_file(path, unreachable)) return {path};
  if (!fs::is_directory(path, unreachable)) {
    throw ConfigError({path.string()}, "is neither a file nor a folder; check the path");
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && is_csv(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace foretoken
