// Writes a trace for chrome://tracing and ui.perfetto.dev while a run goes on: Chrome's JSON array
// format, one event a line, compressed if the file's name ends in ".gz". Nothing is kept, so memory
// stays what it is however long the run. Times are simulated, in whole nanoseconds, so that slices
// which touch or nest do so to the last digit. What may overlap needs tracks of its own:
// TraceLanes.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

/// A row of the picture: a process groups threads, and on a thread slices follow or nest.
struct TraceTrack {
  std::uint32_t process = 0, thread = 0;
};

/// Names and numbers shown beside an event, as the inside of a JSON object.
class TraceArguments {
 public:
  TraceArguments& add(std::string_view name, std::int64_t number);
  TraceArguments& add(std::string_view name, double number);  // nine significant digits
  TraceArguments& add(std::string_view name, std::string_view text);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void add_name(std::string_view name);
  std::string text_;
};

/// start, step and end of an arrow; those of one id make one chain.
enum class FlowPart { start, step, end };

class TraceWriter {
 public:
  /// `file` lives as long; whoever opened it finishes it.
  explicit TraceWriter(OutputFile& file);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Processes are shown in the order of their numbers, threads within theirs likewise.
  void name_process(std::uint32_t process, std::string_view name);
  void name_thread(TraceTrack track, std::string_view name);

  /// Something that took from `start` to `end`. A slice comes before those inside it.
  void slice(TraceTrack track, std::string_view name, std::string_view category, Seconds start,
             Seconds end, const TraceArguments& arguments = {});
  /// The values of a chart from `at` on; `arguments` are its series.
  void counter(std::uint32_t process, std::string_view name, Seconds at,
               const TraceArguments& arguments);
  /// An arrow begins, goes on or ends at the slice that is open on `track` at `at`.
  void flow(FlowPart part, TraceTrack track, std::string_view name, std::uint64_t id, Seconds at);

  /// Ends the trace; ConfigError if it could not be compressed whole. Nothing can be added
  /// afterwards.
  void close();

 private:
  class Compressor;
  void begin(std::string_view phase, std::string_view name);
  void end();

  void put(const std::string& text);

  OutputFile& file_;
  std::unique_ptr<Compressor> compressor_;  // null: plain
  std::string line_;
  bool is_first_ = true;
};

/// Tracks for things that may overlap: each goes to one that is free when it starts, the one that
/// was used last, so that few are needed.
class TraceLanes {
 public:
  /// A lane for what begins at `start`, taken until release().
  std::size_t take(Seconds start);
  void release(std::size_t lane, Seconds end);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::set<std::pair<Seconds, std::size_t>> free_;  // by when its last use ended
  std::size_t size_ = 0;
};

}  // namespace foretoken
