// Evaluations as lines of a CSV file: what a recording writes, what `replay` judges by, and what a
// run that was killed goes on from.
#pragma once

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "calibration/tune/evaluation.hpp"

namespace foretoken::tune {

struct LogEntry {
  std::string problem;
  std::string parameters;  // text_of(); "" for a candidate from outside
  std::string identity;
  Evaluation evaluation;
};

/// One line, without its end. Times in microseconds with five digits; a detail's commas and line
/// ends become spaces.
std::string to_line(const LogEntry& entry);
/// Throws ConfigError at `position`.
LogEntry from_line(std::string_view line, const SourcePosition& position);

class EvaluationLog {
 public:
  /// Every entry of a file, plain or gzip; lines that start with # and the header are left out. A
  /// last line that was cut off is left out too. A file that is not there is empty if `may_miss`.
  static EvaluationLog load(const std::string& path, bool may_miss = false);

  void add(LogEntry entry);
  /// By problem and identity; nullptr if nobody evaluated it.
  [[nodiscard]] const LogEntry* find(std::string_view problem, std::string_view identity) const;
  /// By problem and parameters: survives edits of the source that change no behaviour.
  [[nodiscard]] const LogEntry* find_state(std::string_view problem,
                                           std::string_view parameters) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const std::map<std::pair<std::string, std::string>, LogEntry>& entries() const {
    return entries_;
  }
  /// What the file says after '#', by key: "gpu", "sms", "shapes.softmax".
  [[nodiscard]] const std::map<std::string, std::string>& notes() const { return notes_; }
  /// Throws ConfigError if the file says that its times of the problem are of other shapes.
  void check_shapes(const Problem& problem) const;

 private:
  std::map<std::pair<std::string, std::string>, LogEntry> entries_;
  std::map<std::pair<std::string, std::string>, std::string> identities_;
  std::map<std::string, std::string> notes_;
  std::string path_;
};

/// Appends entries to a file, each written out before add() returns, so that a killed run loses
/// none. Throws ConfigError where the disk refuses.
class EvaluationLogWriter {
 public:
  /// Goes on with an existing file; a new one gets `notes` and the header.
  EvaluationLogWriter(const std::string& path, const std::map<std::string, std::string>& notes);
  /// Before the first entry of a problem a note says which shapes its times are of, unless `before`
  /// does.
  void add(const LogEntry& entry, const Problem& problem, const EvaluationLog& before);

 private:
  std::string path_;
  std::ofstream file_;
  std::set<std::string, std::less<>> noted_;
};

}  // namespace foretoken::tune
