// The three ways something goes wrong, as exceptions that only main() catches:
//   ConfigError      the user's mistake: says where and how to mend it; exit status 2
//   PredictionError  nobody knows the price of this kernel on this GPU
//   InternalError    our bug, raised by FORETOKEN_CHECK with seed, scenario and simulated time
// Libraries never print and never exit.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken {

/// A place in a file (or in "--set key=value"). Line and column count from 1; 0 means unknown.
struct SourcePosition {
  std::string file;
  int line = 0;
  int column = 0;

  /// "file:line:column", shortened to what is known.
  [[nodiscard]] std::string text() const;
};

/// slip: wrong wherever it stands: a name or key that nobody knows, a file that is not there, a
/// value of the wrong type or out of its range. misfit: fine by itself, but not with the rest of
/// the scenario or on that hardware.
enum class Mistake { misfit, slip };

struct Diagnostic {
  SourcePosition position;
  std::string message;
  Mistake mistake = Mistake::misfit;
};

/// The user's mistakes, all those of a file together. what() has one line each.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics);
  ConfigError(SourcePosition position, std::string message, Mistake mistake = Mistake::misfit);

  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// Collects mistakes while a file is read, so that they are reported together.
class Diagnostics {
 public:
  void add(SourcePosition position, std::string message, Mistake mistake = Mistake::misfit);
  /// Runs `load`; a ConfigError thrown there is kept here and false is returned.
  bool attempt(const std::function<void()>& load);
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  /// Throws ConfigError if anything was added, in order of the file's lines.
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> entries_;
};

class PredictionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What a failed FORETOKEN_CHECK adds to its message: called once, at the failure.
void set_check_context(std::function<std::string()> context);

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& message);
}  // namespace detail

}  // namespace foretoken

/// Always on. The second argument and on are a fmt format string: what was expected, with values.
#define FORETOKEN_CHECK(condition, ...)                                 \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::foretoken::detail::check_failed(#condition, __FILE__, __LINE__, \
                                        ::fmt::format(__VA_ARGS__));    \
  } while (false)
