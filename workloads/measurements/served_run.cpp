#include "workloads/measurements/served_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/base/file_kind.hpp"
#include "workloads/measurements/csv_rows.hpp"
#include "workloads/requests/client_result.hpp"
#include "workloads/requests/text_lines.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr std::size_t reported_lines_max = 20;
constexpr auto requests_names = std::to_array<const char*>(
    {"requests.jsonl", "requests.csv", "requests.jsonl.gz", "requests.csv.gz"});
/// Stamps this far from the arrivals are of another clock: no front end keeps a request so long.
constexpr double one_clock_max_s = 3600.0;

/// A request with its stamps as recorded, s.
struct RecordedRequest {
  ServedRequest request;
  double arrival = 0, first_token = 0, last_token = 0;
  std::optional<double> queued, scheduled;
  SourcePosition position;
};

/// Throws BadLine where the stamps contradict each other, or are none.
void check(const RecordedRequest& row) {
  constexpr double furthest_s = 4e9;  // the year 2096 in Unix time
  for (const double stamp : {row.arrival, row.first_token, row.last_token, row.queued.value_or(0),
                             row.scheduled.value_or(0)}) {
    if (std::isnan(stamp))
      throw BadLine("a time is NaN: write a number of seconds, or leave it out");
    if (std::abs(stamp) > furthest_s)
      throw BadLine(fmt::format("{} is not a time in s: more than 4e9 s from 0", stamp));
  }
  if (row.last_token < row.first_token) {
    throw BadLine("last_token_ts lies before first_token_ts");
  }
  if (row.scheduled && row.first_token < *row.scheduled) {
    throw BadLine("first_token_ts lies before scheduled_ts");
  }
  if (row.queued && row.scheduled && *row.scheduled < *row.queued) {
    throw BadLine("scheduled_ts lies before queued_ts");
  }
}

double seconds(const Value& row, std::string_view key) {
  const Value* value = row.find(key);
  if (value == nullptr) throw BadLine(fmt::format("\"{}\" is missing", key));
  if (const auto* whole = std::get_if<std::int64_t>(&value->data)) {
    return static_cast<double>(*whole);
  }
  if (const auto* number = std::get_if<double>(&value->data)) return *number;
  throw BadLine(fmt::format("\"{}\" must be a number of seconds, not {}", key, type_name(*value)));
}

RecordedRequest parse(const Value& row) {
  RecordedRequest recorded;
  if (const Value* id = row.find("request_id"); id != nullptr && id->is_string()) {
    recorded.request.id = std::get<std::string>(id->data);
  }
  recorded.request.model = name_of(row, "model");
  recorded.request.prompt_tokens = token_count(row, "input_toks");
  recorded.request.output_tokens = token_count(row, "output_toks");
  recorded.arrival = seconds(row, "arrival_time");
  recorded.first_token = seconds(row, "first_token_ts");
  recorded.last_token = seconds(row, "last_token_ts");
  if (row.find("queued_ts") != nullptr) recorded.queued = seconds(row, "queued_ts");
  if (row.find("scheduled_ts") != nullptr) recorded.scheduled = seconds(row, "scheduled_ts");
  check(recorded);
  return recorded;
}

std::vector<RecordedRequest> read_jsonl(const std::filesystem::path& path) {
  std::vector<RecordedRequest> rows;
  Diagnostics mistakes;
  std::size_t bad = 0;
  TextLines lines(path);
  std::string_view line;
  while (lines.next(line)) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const SourcePosition position{path.string(), lines.number()};
    try {
      rows.push_back(parse(json_line(line)));
      rows.back().position = position;
    } catch (const BadLine& mistake) {
      std::string message = mistake.what();
      if (lines.is_unended())
        message += "; this last line is not terminated, so the file may be cut off";
      if (++bad <= reported_lines_max) mistakes.add(position, std::move(message));
    }
  }
  mistakes.throw_if_any();
  return rows;
}

std::vector<RecordedRequest> read_csv(const std::filesystem::path& path) {
  std::vector<RecordedRequest> rows;
  CsvRows csv(path);
  const int id = csv.find("request_id"), model = csv.find("model");
  const int input = csv.column("input_toks"), output = csv.column("output_toks");
  const int arrival = csv.column("arrival_time");
  const int first = csv.column("first_token_ts"), last = csv.column("last_token_ts");
  const int queued = csv.find("queued_ts"), scheduled = csv.find("scheduled_ts");
  while (csv.next()) {
    RecordedRequest row;
    row.position = csv.position();
    if (id >= 0) row.request.id = csv.text(id);
    if (model >= 0) row.request.model = csv.text(model);
    try {
      row.request.prompt_tokens = token_count(csv.text(input), "input_toks");
      row.request.output_tokens = token_count(csv.text(output), "output_toks");
      row.arrival = csv.number(arrival);
      row.first_token = csv.number(first);
      row.last_token = csv.number(last);
      if (queued >= 0 && !csv.text(queued).empty()) row.queued = csv.number(queued);
      if (scheduled >= 0 && !csv.text(scheduled).empty()) row.scheduled = csv.number(scheduled);
      check(row);
    } catch (const BadLine& mistake) {
      throw ConfigError(row.position, mistake.what());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<RecordedRequest> read_client_result(const std::filesystem::path& path, ServedRun& run) {
  const ClientResult result = load_client_result(path);
  run.users = result.users;
  run.model = result.model;
  run.failed = result.failed;
  std::vector<RecordedRequest> rows;
  for (const SentRequest& request : result.requests) {
    RecordedRequest row;
    row.arrival = request.sent;
    row.first_token = request.first_token;
    row.last_token = request.last_token;
    row.position = {path.string()};
    row.request.id = fmt::format("{}", request.number);
    row.request.prompt_tokens = request.prompt_tokens;
    row.request.output_tokens = request.output_tokens;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The load tool's result that a folder holds; "" = none.
std::filesystem::path result_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::is_directory(folder)) return {};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && (name.ends_with(".json") || name.ends_with(".jsonl")) &&
        is_client_result(entry.path())) {
      found.push_back(entry.path());
    }
  }
  if (found.size() > 1) {
    std::ranges::sort(found);
    throw ConfigError(
        {folder.string()},
        fmt::format("this folder holds {} results, {} and {} among them; name one of them",
                    found.size(), found[0].filename().string(), found[1].filename().string()));
  }
  return found.empty() ? std::filesystem::path() : found.front();
}

/// The first folder within `folder`, by name, that holds a run; "" = none does.
std::filesystem::path run_below(const std::filesystem::path& folder) {
  std::filesystem::path first;
  if (!std::filesystem::is_directory(folder)) return first;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool holds_one = std::ranges::any_of(requests_names, [&](const char* name) {
      return std::filesystem::is_regular_file(entry.path() / name);
    });
    if (holds_one && (first.empty() || entry.path() < first)) first = entry.path();
  }
  return first;
}

std::filesystem::path requests_file(const std::filesystem::path& folder) {
  if (std::filesystem::is_regular_file(folder)) return folder;
  for (const char* name : requests_names) {
    if (std::filesystem::is_regular_file(folder / name)) return folder / name;
  }
  if (const std::filesystem::path result = result_in(folder); !result.empty()) return result;
  if (const std::filesystem::path below = run_below(folder); !below.empty()) {
    throw ConfigError(
        {folder.string()},
        "this folder holds no recorded run, but one below does: name " + below.string());
  }
  throw ConfigError({folder.string()},
                    std::filesystem::is_directory(folder)
                        ? "this folder holds neither requests.jsonl nor requests.csv, and no "
                          "result of a load tool; `foretoken validate --help` says what they hold"
                        : "there is no such folder; name one that holds requests.jsonl or "
                          "requests.csv, and meta.json, or the result file of a load tool");
}

std::vector<RecordedRequest> read_rows(ServedRun& run) {
  if (is_client_result(run.file)) return read_client_result(run.file, run);
  const std::string name = run.file.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz") ? read_csv(run.file)
                                                             : read_jsonl(run.file);
}

/// Throws ConfigError where either of two clocks counts milliseconds: an engine has requests as
/// fast as clients send them, so that over a second or more the two run alike.
void expect_one_unit(const std::vector<RecordedRequest>& rows) {
  constexpr double span_least_s = 1.0, ratio_least = 900.0, ratio_most = 1100.0;
  const RecordedRequest &first = rows.front(), &last = rows.back();
  if (!first.queued || !last.queued) return;
  const double sent = last.arrival - first.arrival, had = *last.queued - *first.queued;
  const auto are_ms = [](double longer, double shorter) {
    return shorter >= span_least_s && longer > ratio_least * shorter &&
           longer < ratio_most * shorter;
  };
  if (!are_ms(had, sent) && !are_ms(sent, had)) return;
  throw ConfigError(last.position,
                    fmt::format("from the first request to this one, arrival_time advances by "
                                "{:.6g}, queued_ts by {:.6g}: {} in ms; write all times in s",
                                sent, had, had > sent ? "the timestamps are" : "arrival_time is"));
}

/// What to take from stamps to have them on the clock of the arrivals; 0 = they are.
double clock_offset(const std::vector<RecordedRequest>& rows) {
  double least = std::numeric_limits<double>::max();
  bool is_far = false;
  for (const RecordedRequest& row : rows) {
    const double apart = row.queued.value_or(row.first_token) - row.arrival;
    is_far = is_far || apart < 0.0 || apart > one_clock_max_s;
    if (row.queued) least = std::min(least, apart);
  }
  if (!is_far) return 0.0;
  const auto without = std::ranges::find_if(rows, [](const auto& row) { return !row.queued; });
  if (without != rows.end()) {
    throw ConfigError(without->position,
                      "arrival_time and first_token_ts use different clocks, and this request has "
                      "no queued_ts to align them; add it to every request, or write all "
                      "timestamps on the clock of arrival_time");
  }
  return least;
}

}  // namespace

std::vector<std::string> ServedRun::models() const {
  std::vector<std::string> names;
  for (const ServedRequest& request : requests) {
    const bool is_new = std::ranges::find(names, request.model) == names.end();
    if (!request.model.empty() && is_new) names.push_back(request.model);
  }
  return names;
}

Seconds ServedRun::duration() const {
  Seconds end;
  for (const ServedRequest& request : requests) end = std::max(end, request.last_token);
  return end;
}

ServedRun load_served_run(const std::filesystem::path& folder_or_file) {
  ServedRun run;
  run.file = requests_file(folder_or_file);
  expect_kind_of_file(run.file, FileKind::recording);
  std::vector<RecordedRequest> rows = read_rows(run);
  if (rows.empty()) throw ConfigError({run.file.string()}, "no request is recorded here");
  std::ranges::stable_sort(rows, {}, &RecordedRequest::arrival);
  expect_one_unit(rows);
  const double offset = clock_offset(rows);
  run.has_two_clocks = offset != 0.0;
  const double begin = rows.front().arrival;
  for (RecordedRequest& row : rows) {
    ServedRequest& request = row.request;
    const auto date = [&](double stamp) { return Seconds(stamp - offset - begin); };
    request.arrival = Seconds(row.arrival - begin);
    request.first_token = date(row.first_token);
    request.last_token = date(row.last_token);
    if (row.queued) request.queued = date(*row.queued);
    if (row.scheduled) request.scheduled = date(*row.scheduled);
    if (request.first_token < request.arrival) {
      throw ConfigError(row.position,
                        "its first token came before it arrived, even after aligning the clocks; "
                        "are arrival_time and queued_ts from one run?");
    }
    run.requests.push_back(std::move(request));
  }
  return run;
}

}  // namespace foretoken
