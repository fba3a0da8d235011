// How traces are written: the family behind `trace_format = "..."`, which is found from the file's
// beginning when it is absent. A variant is one .cpp in traces/ and one line in its catalog. It
// turns a line, or a JSON object, into requests and says what it expected when it cannot. Files,
// gzip, line ends, sorting, and going on past bad lines are done once, in load_trace().
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sim/base/json_records.hpp"
#include "sim/base/registry.hpp"
#include "workloads/requests/text_lines.hpp"
#include "workloads/requests/trace.hpp"

namespace foretoken {

/// A line that is no request; what() says what was expected and what was found.
class BadLine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A request that was never answered, so that nobody knows how long it was; it is left out.
class FailedRequest : public std::exception {};

/// What a file in an unknown format is recognised by.
struct TraceHead {
  std::string_view first_line;  // with text in it
  std::string_view beginning;   // from there, at most 64 KiB

  [[nodiscard]] bool has(std::string_view text) const {
    return beginning.find(text) != std::string_view::npos;
  }
};

/// Of what `lines` are about to give; passes over blank lines. Throws ConfigError for an empty
/// file.
TraceHead trace_head(TextLines& lines);

/// Where a format's requests go to.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  /// `line`: where it stands.
  virtual void add(const TraceRow& row, int line) = 0;
  /// What the file says of its traffic beside the requests; the last word counts.
  virtual void tell(const ToldTraffic& told) = 0;
  /// A request that failed.
  virtual void leave_out() = 0;
  /// A mistake at `line`; `is_unended`: the file ends in it.
  virtual void add_bad_line(int line, std::string message, bool is_unended) = 0;
};

class TraceFormat {
 public:
  virtual ~TraceFormat() = default;

  /// Whether a file that begins so is in this format.
  [[nodiscard]] virtual bool recognises(const TraceHead& head) const = 0;

  /// Reads to the end. Throws ConfigError for what is no matter of single lines.
  virtual void read(TextLines& lines, TraceSink& sink) = 0;

  /// Prompt tokens that one prefix hash stands for, unless the scenario says otherwise.
  [[nodiscard]] virtual int prefix_block_tokens() const { return 512; }

  // Known after read():
  /// Whether equal hashes mean equal prefixes within one trajectory alone.
  [[nodiscard]] virtual bool hashes_are_local() const { return false; }
  /// Whether rows have times.
  [[nodiscard]] virtual bool has_arrivals() const { return true; }
  /// The names of the columns as the header has them, if it has any.
  [[nodiscard]] virtual std::string columns() const { return ""; }
};

/// A format with one request a line.
class LineTraceFormat : public TraceFormat {
 public:
  void read(TextLines& lines, TraceSink& sink) final;

 protected:
  /// Takes the first line: true if it was a header, false if it is already a request. Throws
  /// BadLine if the format needs a header and this is none.
  virtual bool take_header(std::string_view /*first_line*/) { return false; }
  /// Reads one line (without its end). Throws BadLine, and FailedRequest.
  [[nodiscard]] virtual TraceRow parse(std::string_view line) const = 0;

 private:
  bool header_in(std::string_view first_line, const SourcePosition& position);
};

/// A format of JSON objects that may span lines, or hold many requests each.
class JsonTraceFormat : public TraceFormat {
 public:
  void read(TextLines& lines, TraceSink& sink) final;

 protected:
  /// Where the objects are.
  [[nodiscard]] virtual JsonRecords records() const = 0;
  /// Adds the requests of one object. Throws BadLine, and FailedRequest.
  virtual void parse(const Value& record, TraceSink& sink) = 0;
};

using TraceFormatRegistry = Registry<std::function<std::unique_ptr<TraceFormat>()>>;

/// More specific ones first, as detection tries them in order.
TraceFormatRegistry trace_format_registry();

/// Reads a trace, plain or gzip. `format` is a name of `formats`, or empty to find out. Blank lines
/// are ignored. Throws ConfigError with a line for each malformed one (the first 20, then how many
/// more), or, with `skip_bad_lines`, counts them; also for a file that cannot be read, is cut off
/// within gzip, has no known header, holds no request, or more than `limits`.
std::shared_ptr<const Trace> load_trace(const std::filesystem::path& path, std::string_view format,
                                        bool skip_bad_lines, const TraceFormatRegistry& formats,
                                        const TraceLimits& limits = {});

}  // namespace foretoken
