// load_trace(): from a file to a Trace, whatever its format. The loop over lines is here, so that
// every format reports, skips and counts malformed lines alike.
#include <utility>

#include "sim/base/error.hpp"
#include "workloads/requests/text_lines.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr std::size_t reported_lines_max = 20;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

bool next_line_with_text(TextLines& lines, std::string_view& line) {
  while (lines.next(line)) {
    if (!is_blank(line)) return true;
  }
  return false;
}

/// The malformed lines of a file.
class BadLines {
 public:
  explicit BadLines(std::string file) : file_(std::move(file)) {}

  void add(const TextLines& lines, std::string message) {
    if (lines.is_unended()) message += "; this last line has no end, so the file may be cut off";
    if (++count_ <= reported_lines_max) reported_.add({file_, lines.number()}, std::move(message));
  }

  [[nodiscard]] std::size_t count() const { return count_; }

  void throw_if_any() {
    if (count_ == 0) return;
    const std::string more = count_ > reported_lines_max
                                 ? fmt::format("and {} more; ", count_ - reported_lines_max)
                                 : "";
    reported_.add({file_}, fmt::format("{}{} malformed {}: mend {}, or go on without {} with "
                                       "--skip-bad-lines",
                                       more, count_, count_ == 1 ? "line" : "lines",
                                       count_ == 1 ? "it" : "them", count_ == 1 ? "it" : "them"));
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

const TraceFormatRegistry::Entry& detect(const TraceFormatRegistry& formats,
                                         std::string_view first_line,
                                         const SourcePosition& position) {
  for (const auto& entry : formats.entries()) {
    if (entry.make()->recognises(first_line)) return entry;
  }
  std::string known;
  for (const auto& entry : formats.entries()) {
    known += fmt::format("{}{} ({})", known.empty() ? "" : "; ", entry.name, entry.summary);
  }
  throw ConfigError(position,
                    fmt::format("this first line is of no known trace format: '{}'. Known: {}",
                                shown(first_line), known));
}

[[noreturn]] void throw_too_large(const SourcePosition& position, const TraceLimits& limits) {
  throw ConfigError(position,
                    fmt::format("a trace may hold {} requests and {} prefix hashes, and here are "
                                "more; cut the file into parts, as with head -n {}",
                                limits.rows, limits.hashes, position.line - 1));
}

/// A file that is one document of a format, or nullptr.
std::shared_ptr<const Trace> load_document(const std::filesystem::path& path,
                                           std::string_view format,
                                           const TraceFormatRegistry& formats,
                                           const TraceLimits& limits) {
  for (const auto& entry : formats.entries()) {
    const auto reader = entry.make();
    if ((!format.empty() && format != entry.name) || !reader->is_document(path)) continue;
    auto trace = std::make_shared<Trace>();
    for (const TraceRow& row : reader->read(path))
      if (!trace->add(row, limits)) throw_too_large({path.string()}, limits);
    trace->finish();
    trace->set_origin(entry.name, true, "", reader->prefix_block_tokens(), 0);
    return trace;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const Trace> load_trace(const std::filesystem::path& path, std::string_view format,
                                        bool skip_bad_lines, const TraceFormatRegistry& formats,
                                        const TraceLimits& limits) {
  if (auto document = load_document(path, format, formats, limits)) return document;
  const std::string file = path.string();
  TextLines lines(path);
  std::string_view line;
  if (!next_line_with_text(lines, line)) {
    throw ConfigError({file}, "the trace is empty; it needs at least one request");
  }
  const SourcePosition first = {file, lines.number()};
  const auto& entry = format.empty() ? detect(formats, line, first) : formats.find(format, first);
  const auto reader = entry.make();
  bool more = true;
  try {
    if (reader->take_header(line)) more = next_line_with_text(lines, line);
  } catch (const BadLine& bad) {
    throw ConfigError(first, bad.what());
  }

  auto trace = std::make_shared<Trace>();
  BadLines bad_lines(file);
  for (; more; more = next_line_with_text(lines, line)) {
    try {
      if (!trace->add(reader->parse(line), limits)) throw_too_large({file, lines.number()}, limits);
    } catch (const BadLine& bad) {
      bad_lines.add(lines, bad.what());
    }
  }
  if (!skip_bad_lines) bad_lines.throw_if_any();
  if (trace->size() == 0) {
    throw ConfigError({file}, bad_lines.count() == 0
                                  ? "the trace is empty; it needs at least one request"
                                  : fmt::format("no request is left: all {} lines are malformed",
                                                bad_lines.count()));
  }
  trace->finish();
  trace->set_origin(entry.name, reader->has_arrivals(), reader->columns(),
                    reader->prefix_block_tokens(), static_cast<std::int64_t>(bad_lines.count()));
  return trace;
}

}  // namespace foretoken
