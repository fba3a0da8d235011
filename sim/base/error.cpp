#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace foretoken {
namespace {

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    const std::string position = diagnostic.position.text();
    if (!position.empty()) text += position + ": ";
    text += diagnostic.message;
  }
  std::ranges::replace(text, '\0', '?');  // of a damaged file; what() would end there
  return text;
}

std::function<std::string()>& check_context() {
  static std::function<std::string()> context;
  return context;
}

}  // namespace

std::string SourcePosition::text() const {
  if (line == 0) return file;
  if (column == 0) return fmt::format("{}:{}", file, line);
  return fmt::format("{}:{}:{}", file, line, column);
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(joined(diagnostics)), diagnostics_(std::move(diagnostics)) {}

ConfigError::ConfigError(SourcePosition position, std::string message, Mistake mistake)
    : ConfigError(std::vector<Diagnostic>{{std::move(position), std::move(message), mistake}}) {}

void Diagnostics::add(SourcePosition position, std::string message, Mistake mistake) {
  entries_.push_back({std::move(position), std::move(message), mistake});
}

bool Diagnostics::attempt(const std::function<void()>& load) {
  try {
    load();
    return true;
  } catch (const ConfigError& error) {
    entries_.insert(entries_.end(), error.diagnostics().begin(), error.diagnostics().end());
    return false;
  }
}

void Diagnostics::throw_if_any() const {
  if (entries_.empty()) return;
  // A person mends a file from top to bottom; files stay in the order they were first complained
  // of.
  const auto key = [&](const Diagnostic& entry) {
    const auto first = std::ranges::find(entries_, entry.position.file,
                                         [](const Diagnostic& e) { return e.position.file; });
    // What concerns a whole file (line 0) sums up its lines.
    const int line =
        entry.position.line == 0 ? std::numeric_limits<int>::max() : entry.position.line;
    return std::tuple(first - entries_.begin(), line, entry.position.column);
  };
  std::vector<Diagnostic> sorted = entries_;
  std::ranges::stable_sort(sorted, {}, key);
  // What several read is complained of by each.
  const auto same = [](const Diagnostic& a, const Diagnostic& b) {
    return a.position.text() == b.position.text() && a.message == b.message;
  };
  const auto repeated = std::ranges::unique(sorted, same);
  sorted.erase(repeated.begin(), repeated.end());
  throw ConfigError(std::move(sorted));
}

void set_check_context(std::function<std::string()> context) {
  check_context() = std::move(context);
}

namespace detail {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  std::string text = fmt::format("{}:{}: {} ({})", file, line, message, condition);
  if (check_context()) text.append("\n").append(check_context()());
  throw InternalError(text);
}

}  // namespace detail
}  // namespace foretoken
