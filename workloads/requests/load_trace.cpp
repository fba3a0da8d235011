// load_trace(): from a file to a Trace, whatever its format. The loops over lines and JSON objects
// are here, so that every format reports, skips and counts what is malformed alike.
#include <utility>

#include "sim/base/error.hpp"
#include "workloads/requests/text_lines.hpp"
#include "workloads/requests/trace_format.hpp"
#include "workloads/requests/trace_places.hpp"

namespace foretoken {
namespace {

constexpr std::size_t reported_lines_max = 20;
/// What a format is recognised by.
constexpr std::size_t head_bytes = std::size_t{1} << 16;
/// The longest JSON document: the text is in memory as a whole, its requests are not.
constexpr std::size_t document_bytes_max = std::size_t{1} << 30;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// The malformed lines of a file.
class BadLines {
 public:
  explicit BadLines(std::string file) : file_(std::move(file)) {}

  void add(int line, std::string message, bool is_unended) {
    if (is_unended) message += "; this last line is not terminated, so the file may be cut off";
    if (++count_ <= reported_lines_max) reported_.add({file_, line}, std::move(message));
  }

  [[nodiscard]] std::size_t count() const { return count_; }

  void throw_if_any() {
    if (count_ == 0) return;
    const std::string more = count_ > reported_lines_max
                                 ? fmt::format("and {} more; ", count_ - reported_lines_max)
                                 : "";
    reported_.add({file_},
                  fmt::format("{}{} malformed {}: fix {}, or skip {} with --skip-bad-lines", more,
                              count_, count_ == 1 ? "line" : "lines", count_ == 1 ? "it" : "them",
                              count_ == 1 ? "it" : "them"));
    reported_.throw_if_any();
  }

 private:
  std::string file_;
  Diagnostics reported_;
  std::size_t count_ = 0;
};

/// As much of a line as a message has room for, in letters that a terminal can show.
std::string shown(std::string_view line) {
  constexpr std::size_t bytes_max = 100;
  std::string text(line.substr(0, bytes_max));
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  for (char& c : text) c = is_plain(c) ? c : '?';
  return line.size() > bytes_max ? text + "..." : text;
}

const TraceFormatRegistry::Entry& detect(const TraceFormatRegistry& formats, const TraceHead& head,
                                         const SourcePosition& position) {
  for (const auto& entry : formats.entries()) {
    if (entry.make()->recognises(head)) return entry;
  }
  std::vector<std::string> known;
  for (const auto& entry : formats.entries()) known.push_back(entry.name);
  throw ConfigError(
      position,
      fmt::format(
          "the first line matches no known trace format: '{}'. Known (see foretoken list): {}",
          shown(head.first_line), fmt::join(known, ", ")));
}

[[noreturn]] void throw_too_large(const SourcePosition& position, const TraceLimits& limits) {
  throw ConfigError(position, fmt::format("a trace may hold {} requests and {} prefix hashes, but "
                                          "this one has more; split the file, as with head -n {}",
                                          limits.rows, limits.hashes, position.line - 1));
}

class TraceBuilder final : public TraceSink {
 public:
  TraceBuilder(std::string file, const TraceLimits& limits)
      : file_(std::move(file)), limits_(limits), bad_lines_(file_) {}

  void add(const TraceRow& row, int line) override {
    if (!trace_->add(row, limits_)) throw_too_large({file_, line}, limits_);
    if (row.place) {
      places_.add(trace_->size() - 1, line, *row.place);
    } else {
      if (!earliest_ || row.arrival_ns < earliest_->ns) earliest_ = {row.arrival_ns, line};
      if (!latest_ || row.arrival_ns > latest_->ns) latest_ = {row.arrival_ns, line};
    }
  }
  void tell(const ToldTraffic& told) override { origin_.told = told; }
  void leave_out() override { ++origin_.failed_requests; }
  void add_bad_line(int line, std::string message, bool is_unended) override {
    bad_lines_.add(line, std::move(message), is_unended);
  }

  std::shared_ptr<const Trace> finish(const TraceFormat& format, const std::string& name,
                                      bool skip_bad_lines) {
    if (!places_.empty()) {
      places_.resolve(*trace_, [this](int line, std::string message) {
        bad_lines_.add(line, std::move(message), false);
      });
    }
    if (!skip_bad_lines) bad_lines_.throw_if_any();
    if (trace_->size() == 0) throw ConfigError({file_}, emptiness());
    expect_one_clock();
    trace_->finish();
    origin_.format = name;
    origin_.has_arrivals = format.has_arrivals();
    origin_.columns = format.columns();
    origin_.prefix_block_tokens = format.prefix_block_tokens();
    origin_.hashes_are_local = format.hashes_are_local();
    origin_.skipped_lines = static_cast<std::int64_t>(bad_lines_.count());
    trace_->set_origin(std::move(origin_));
    return trace_;
  }

 private:
  struct Dated {
    std::int64_t ns;
    int line;
  };

  /// No log spans ten years, but a date among seconds since the start is fifty years away.
  void expect_one_clock() const {
    constexpr std::int64_t year_ns = 31'557'600 * std::int64_t{1'000'000'000}, years_max = 10;
    if (!earliest_ || latest_->ns / 2 - earliest_->ns / 2 <= years_max * (year_ns / 2)) return;
    throw ConfigError(
        {file_, earliest_->line},
        fmt::format("arrives {} years before the request of line {}: are all times of one clock "
                    "and in one unit? Correct or remove one of the two",
                    latest_->ns / year_ns - earliest_->ns / year_ns, latest_->line));
  }

  [[nodiscard]] std::string emptiness() const {
    if (bad_lines_.count() > 0)
      return fmt::format("no request is left: all {} lines are malformed", bad_lines_.count());
    if (origin_.failed_requests > 0)
      return fmt::format("no request is left: all {} failed", origin_.failed_requests);
    return "the trace is empty; it needs at least one request";
  }

  std::string file_;
  const TraceLimits& limits_;
  BadLines bad_lines_;
  TracePlaces places_;
  std::shared_ptr<Trace> trace_ = std::make_shared<Trace>();
  std::optional<Dated> earliest_, latest_;  // of requests for themselves
  Trace::Origin origin_;
};

}  // namespace

TraceHead trace_head(TextLines& lines) {
  while (true) {
    const std::string_view beginning = lines.peek(head_bytes);
    if (beginning.empty())
      throw ConfigError({lines.path()}, "the trace is empty; it needs at least one request");
    std::string_view line = beginning.substr(0, beginning.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!is_blank(line)) return {line, beginning};
    lines.next(line);
  }
}

void LineTraceFormat::read(TextLines& lines, TraceSink& sink) {
  std::string_view line;
  bool is_first = true;
  while (lines.next(line)) {
    if (is_blank(line)) continue;
    try {
      if (!is_first || !header_in(line, {lines.path(), lines.number()}))
        sink.add(parse(line), lines.number());
    } catch (const FailedRequest&) {
      sink.leave_out();
    } catch (const BadLine& bad) {
      sink.add_bad_line(lines.number(), bad.what(), lines.is_unended());
    }
    is_first = false;
  }
}

bool LineTraceFormat::header_in(std::string_view first_line, const SourcePosition& position) {
  try {
    return take_header(first_line);
  } catch (const BadLine& bad) {
    throw ConfigError(position, bad.what());
  }
}

void JsonTraceFormat::read(TextLines& lines, TraceSink& sink) {
  const std::string text = lines.take_rest(document_bytes_max);
  each_json_record(text, lines.path(), records(), [&](const Value& record) {
    try {
      if (!record.is_object())
        throw BadLine(fmt::format("expected an object, found {}", type_name(record)));
      parse(record, sink);
    } catch (const FailedRequest&) {
      sink.leave_out();
    } catch (const BadLine& bad) {
      sink.add_bad_line(record.position.line, bad.what(), false);
    }
  });
}

std::shared_ptr<const Trace> load_trace(const std::filesystem::path& path, std::string_view format,
                                        bool skip_bad_lines, const TraceFormatRegistry& formats,
                                        const TraceLimits& limits) {
  const std::string file = path.string();
  TextLines lines(path);
  const TraceHead head = trace_head(lines);
  const SourcePosition first = {file, lines.number() + 1};
  const auto& entry = format.empty() ? detect(formats, head, first) : formats.find(format, first);
  const auto reader = entry.make();
  TraceBuilder builder(file, limits);
  reader->read(lines, builder);
  return builder.finish(*reader, entry.name, skip_bad_lines);
}

}  // namespace foretoken
