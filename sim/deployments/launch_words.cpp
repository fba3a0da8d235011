#include "sim/deployments/launch_words.hpp"

#include <algorithm>
#include <cctype>
#include <functional>

namespace foretoken {
namespace {

constexpr std::size_t words_max = 100'000;
constexpr std::size_t word_bytes_max = std::size_t{1} << 20U;

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class ScriptReader {
 public:
  ScriptReader(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  LaunchScript read() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(script_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\\' && line_ends_at(at_ + 1)) {
      at_ = text_.find('\n', at_);
      take();
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
      take();
      end_command();
      if (c == '\n') read_documents();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      take();
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '<' && text_.substr(at_, 2) == "<<" && text_.substr(at_, 3) != "<<<") {
      read_document_mark();
    } else if (c == '>' || c == '<') {
      while (at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<' || text_[at_] == '&'))
        take();
      is_target_ = true;
    } else {
      read_word();
    }
  }

  [[nodiscard]] bool line_ends_at(std::size_t at) const {
    if (at < text_.size() && text_[at] == '\r') ++at;
    return at < text_.size() && text_[at] == '\n';
  }

  char take() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }

  void read_word() {
    LaunchWord word{"", {source_, line_}};
    while (at_ < text_.size() && !is_end_of_word()) append_part(word);
    // 2> and &>: the number belongs to the redirection.
    const bool is_number = word.text.size() == 1 && std::isdigit(word.text[0]) != 0;
    if (is_number && at_ < text_.size() && text_[at_] == '>') return;
    if (is_target_) {
      target_ = word.text;
      is_target_ = false;
      return;
    }
    if (++words_ > words_max) {
      throw ConfigError(word.position,
                        fmt::format("more than {} words: this is not a launch script", words_max));
    }
    if (command_.empty() && (set_variable(word.text) || exports(word.text))) return;
    command_.push_back(std::move(word));
  }

  [[nodiscard]] bool is_end_of_word() const {
    const char c = text_[at_];
    if (c == '\\') return line_ends_at(at_ + 1);
    return std::string_view(" \t\r\n;&|<>").find(c) != std::string_view::npos;
  }

  void append_part(LaunchWord& word) {
    if (word.text.size() > word_bytes_max)
      throw ConfigError(word.position, "this word is too long for a launch script");
    const char c = text_[at_];
    if (c == '\'') {
      take();
      while (more(word, '\'')) word.text += take();
      take();
    } else if (c == '"') {
      take();
      while (more(word, '"')) append_quoted(word);
      take();
    } else if (c == '\\') {
      take();
      if (at_ < text_.size()) word.text += take();
    } else if (c == '$') {
      append_variable(word.text);
    } else {
      word.text += take();
    }
  }

  void append_quoted(LaunchWord& word) {
    const char c = text_[at_];
    if (c == '$') return append_variable(word.text);
    if (c == '\\' && at_ + 1 < text_.size() &&
        std::string_view("\"\\$`\n").find(text_[at_ + 1]) != std::string_view::npos) {
      take();
      const char escaped = take();
      if (escaped != '\n') word.text += escaped;
      return;
    }
    word.text += take();
  }

  [[nodiscard]] bool more(const LaunchWord& word, char quote) const {
    if (at_ >= text_.size()) {
      throw ConfigError(word.position,
                        fmt::format("the quote {} that begins here is not closed", quote));
    }
    return text_[at_] != quote;
  }

  void append_variable(std::string& out) {
    std::size_t end = at_ + 1;
    if (end < text_.size() && text_[end] == '(') return append_substitution(out);
    const bool is_braced = end < text_.size() && text_[end] == '{';
    if (is_braced) ++end;
    const std::size_t begin = end;
    while (end < text_.size() && is_name_letter(text_[end])) ++end;
    const std::string name(text_.substr(begin, end - begin));
    std::string otherwise;
    bool has_default = false;
    if (is_braced) {
      const std::size_t close = text_.find('}', end);
      if (close == std::string_view::npos) return append_dollar(out);
      std::string_view rest = text_.substr(end, close - end);
      has_default = rest.starts_with(":-") || rest.starts_with("-");
      if (has_default) rest.remove_prefix(rest.starts_with(':') ? 2 : 1);
      if (!rest.empty() && !has_default) return append_dollar(out);
      otherwise = rest;
      end = close + 1;
    }
    if (name.empty()) return append_dollar(out);
    const auto known = std::ranges::find(variables_, name, &Variable::first);
    if (known != variables_.end()) {
      out += known->second;
    } else if (has_default) {
      out += otherwise;
    } else {
      out += text_.substr(at_, end - at_);
    }
    while (at_ < end) take();
  }

  void append_dollar(std::string& out) { out += take(); }

  /// $( … ): kept as written.
  void append_substitution(std::string& out) {
    int depth = 0;
    do {
      const char c = take();
      out += c;
      if (c == '(') ++depth;
      if (c == ')') --depth;
    } while (at_ < text_.size() && (depth > 0 || text_[at_ - 1] != ')'));
  }

  bool set_variable(const std::string& word) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0) return false;
    if (!std::ranges::all_of(word.substr(0, equals), is_name_letter)) return false;
    const std::string name = word.substr(0, equals);
    std::erase_if(variables_, [&](const Variable& variable) { return variable.first == name; });
    variables_.emplace_back(name, word.substr(equals + 1));
    assigned_.push_back(name);
    return true;
  }

  /// `export`, and a name after it.
  bool exports(const std::string& word) {
    if (is_export_) assigned_.push_back(word);
    const bool was_export = is_export_;
    is_export_ = is_export_ || word == "export";
    return was_export || is_export_;
  }

  [[nodiscard]] LaunchVariables environment() const {
    LaunchVariables environment;
    for (const Variable& variable : variables_) {
      for (const auto& names : {std::cref(exported_), std::cref(assigned_)}) {
        if (std::ranges::find(names.get(), variable.first) == names.get().end()) continue;
        environment.push_back(variable);
        break;
      }
    }
    return environment;
  }

  void read_document_mark() {
    at_ += 2;
    const bool strips = at_ < text_.size() && text_[at_] == '-';
    if (strips) ++at_;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    LaunchWord mark{"", {source_, line_}};
    while (at_ < text_.size() && !is_end_of_word()) append_part(mark);
    marks_.push_back({mark.text, strips});
  }

  /// The texts that the line before announced.
  void read_documents() {
    for (const auto& [mark, strips] : marks_) {
      std::string body;
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        ++line_;
        if (line.ends_with('\r')) line.remove_suffix(1);
        while (strips && line.starts_with('\t')) line.remove_prefix(1);
        if (line == mark) break;
        body += line;
        body += '\n';
      }
      if (!ended_target_.empty()) script_.files.emplace_back(ended_target_, body);
    }
    marks_.clear();
  }

  void end_command() {
    ended_target_ = std::move(target_);
    target_.clear();
    is_target_ = false;
    if (is_export_) std::ranges::copy(assigned_, std::back_inserter(exported_));
    if (!command_.empty()) {
      script_.environments.push_back(environment());
      script_.commands.push_back(std::move(command_));
    }
    is_export_ = false;
    assigned_.clear();
    command_.clear();
  }

  using Variable = std::pair<std::string, std::string>;
  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0, words_ = 0;
  int line_ = 1;
  LaunchScript script_;
  LaunchCommand command_;
  std::vector<Variable> variables_;
  std::vector<std::string> exported_, assigned_;     // names; the latter by the current command
  bool is_export_ = false;                           // what is assigned is for all that follow
  std::vector<std::pair<std::string, bool>> marks_;  // of here-documents, and whether tabs go
  bool is_target_ = false;                           // the next word is a redirection's
  std::string target_, ended_target_;
};

}  // namespace

const std::string* LaunchScript::file(std::string_view name) const {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  for (const auto& [path, text] : files) {
    if (std::string_view(path).substr(path.rfind('/') + 1) == base) return &text;
  }
  return nullptr;
}

LaunchScript read_launch_script(std::string_view text, const std::string& source) {
  return ScriptReader(text, source).read();
}

}  // namespace foretoken
