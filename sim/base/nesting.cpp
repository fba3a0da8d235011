#include "sim/base/nesting.hpp"

#include <algorithm>
#include <vector>

namespace foretoken {
namespace {

/// Walks a text once: keys, strings, comments and brackets are all it knows of TOML.
class NestingScan {
 public:
  NestingScan(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  void run() {
    while (at_ < text_.size()) take();
  }

 private:
  /// What an open bracket closes back to.
  struct Bracket {
    int level = 0;
    bool is_table = false;
  };

  void take() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '#') return skip_to_line_end();
    switch (c) {
      case '\n':
        end_line();
        break;
      case '.':
        if (in_key_) deepen(at_ + 1);
        break;
      case '=':
        if (in_key_ && !is_header_) deepen(at_);
        in_key_ = false;
        break;
      case '[':
      case '{':
        open(c == '{');
        break;
      case ',':
        if (!brackets_.empty()) restart_member();
        break;
      case ']':
      case '}':
        close();
        break;
      default:
        break;
    }
    if (c != '\n' && c != ' ' && c != '\t' && c != '\r') is_line_start_ = false;
    ++at_;
  }

  void end_line() {
    ++line_;
    line_begin_ = at_ + 1;
    if (!brackets_.empty()) return;  // an array goes on
    if (is_header_) header_level_ = level_ + 1;
    is_header_ = false;
    level_ = header_level_;
    in_key_ = true;
    is_line_start_ = true;
  }

  void open(bool is_table) {
    if (is_line_start_ && brackets_.empty() && !is_table) {  // [table] or [[table]]
      is_header_ = true;
      in_key_ = true;
      level_ = 0;
      return;
    }
    if (is_header_) return;  // the second of [[
    brackets_.push_back({level_, is_table});
    if (!is_table) deepen(at_);
    in_key_ = is_table;
  }

  void restart_member() {
    level_ = brackets_.back().level + (brackets_.back().is_table ? 0 : 1);
    in_key_ = brackets_.back().is_table;
  }

  void close() {
    if (brackets_.empty()) return;
    level_ = brackets_.back().level;
    brackets_.pop_back();
    in_key_ = false;
  }

  /// One level more, for what stands at `place`. A dot needs a part after it, which is a level too.
  void deepen(std::size_t place) {
    ++level_;
    if (level_ + (text_[at_] == '.' ? 1 : 0) <= levels_max) return;
    throw ConfigError({source_, line_, static_cast<int>(place - line_begin_) + 1},
                      too_deep_message());
  }

  void skip_to_line_end() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void skip_string(char quote) {
    is_line_start_ = false;
    const std::string three(3, quote);
    const bool is_long = text_.substr(at_, 3) == three;
    at_ += is_long ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (!is_long) return;  // no string: the parser will say so
        ++line_;
        line_begin_ = at_ + 1;
      }
      if (c == '\\' && quote == '"') {
        at_ += 2;
        continue;
      }
      if (is_long ? text_.substr(at_, 3) == three : c == quote) {
        at_ += is_long ? 3 : 1;
        return;
      }
      ++at_;
    }
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 1;
  int level_ = 0, header_level_ = 0;
  std::vector<Bracket> brackets_;
  bool in_key_ = true, is_header_ = false, is_line_start_ = true;
};

}  // namespace

std::string too_deep_message() {
  return fmt::format("nests deeper than {} levels; is this the right file?", levels_max);
}

void check_toml_nesting(std::string_view text, const std::string& source) {
  NestingScan(text, source).run();
}

}  // namespace foretoken
