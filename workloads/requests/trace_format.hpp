// How traces are written: the family behind `trace_format = "..."`, which is found from the first
// line when it is absent. A variant is one .cpp in traces/ and one line in its catalog; it turns
// one line into one request and says what it expected when it cannot. Files, gzip, line ends,
// sorting, and going on past bad lines are done once, in load_trace().
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/registry.hpp"
#include "workloads/requests/trace.hpp"

namespace foretoken {

/// A line that is no request; what() says what was expected and what was found.
class BadLine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class TraceFormat {
 public:
  virtual ~TraceFormat() = default;

  /// Whether a file is one document of this format; then read() reads all of it, and what follows
  /// here of lines has no meaning.
  [[nodiscard]] virtual bool is_document(const std::filesystem::path&) const { return false; }
  /// Throws ConfigError.
  [[nodiscard]] virtual std::vector<TraceRow> read(const std::filesystem::path&) const {
    return {};
  }

  /// Whether a file whose first line is this one is in this format.
  [[nodiscard]] virtual bool recognises(std::string_view first_line) const = 0;

  /// Takes the first line: true if it was a header, false if it is already a request. Throws
  /// BadLine if the format needs a header and this is none.
  virtual bool take_header(std::string_view first_line) = 0;

  /// Reads one line (without its end). Throws BadLine.
  [[nodiscard]] virtual TraceRow parse(std::string_view line) const = 0;

  /// Prompt tokens that one prefix hash stands for, unless the scenario says otherwise.
  [[nodiscard]] virtual int prefix_block_tokens() const { return 512; }

  /// Whether rows have times; known after take_header().
  [[nodiscard]] virtual bool has_arrivals() const { return true; }

  /// The names of the columns as the header has them, if it has any; known after take_header().
  [[nodiscard]] virtual std::string columns() const { return ""; }
};

using TraceFormatRegistry = Registry<std::function<std::unique_ptr<TraceFormat>()>>;

/// azure, mooncake, csv, jsonl …; more specific ones first, as detection tries them in order.
TraceFormatRegistry trace_format_registry();

/// Reads a trace, plain or gzip. `format` is a name of `formats`, or empty to find out. Blank lines
/// are ignored. Throws ConfigError with a line for each malformed one (the first 20, then how many
/// more), or, with `skip_bad_lines`, counts them; also for a file that cannot be read, is cut off
/// within gzip, has no known header, holds no request, or more than `limits`.
std::shared_ptr<const Trace> load_trace(const std::filesystem::path& path, std::string_view format,
                                        bool skip_bad_lines, const TraceFormatRegistry& formats,
                                        const TraceLimits& limits = {});

}  // namespace foretoken
