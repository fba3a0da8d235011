#include "sim/deployments/python_value.hpp"

#include <cctype>
#include <charconv>
#include <string>

namespace foretoken {
namespace {

/// Thrown where the text does not go on as a value must.
struct NotPython {};

class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  /// nullopt: None, or nothing plain.
  std::optional<Value> value() {
    skip_blanks();
    const char c = peek();
    if (c == '\'' || c == '"') return Value(string());
    if (c == '{') return object('}', ':');
    if (c == '[' || c == '(') return list(c == '[' ? ']' : ')');
    if (c == '<') return skip_object();
    if (c == '-' || c == '+' || std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
    return name();
  }

 private:
  [[nodiscard]] char peek() const {
    if (at_ >= text_.size()) throw NotPython();
    return text_[at_];
  }
  char take() {
    const char c = peek();
    ++at_;
    return c;
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool took(char wanted) {
    skip_blanks();
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  std::string string() {
    const char quote = take();
    std::string out;
    for (char c = take(); c != quote; c = take()) out += c == '\\' ? take() : c;
    return out;
  }

  Value number() {
    const std::size_t begin = at_;
    const auto belongs = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '+';
    };
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    const std::string_view digits = text_.substr(begin, at_ - begin);
    const char* end = digits.data() + digits.size();
    std::int64_t whole = 0;
    if (std::from_chars(digits.data(), end, whole).ptr == end) return Value(whole);
    double real = 0;
    if (std::from_chars(digits.data(), end, real).ptr == end) return Value(real);
    return Value(std::string(digits));
  }

  /// True, False, None, a member of an enumeration, or a call.
  std::optional<Value> name() {
    const std::size_t begin = at_;
    const auto belongs = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    if (at_ == begin) throw NotPython();
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "True") return Value(true);
    if (word == "False") return Value(false);
    if (word == "None") return std::nullopt;
    if (at_ < text_.size() && text_[at_] == '(') return object(')', '=');
    return std::nullopt;
  }

  std::string key() {
    skip_blanks();
    if (peek() == '\'' || peek() == '"') return string();
    std::string word;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_') word += take();
    if (word.empty()) throw NotPython();
    return word;
  }

  Value object(char end, char between) {
    ++at_;
    Value out{ValueObject()};
    while (!took(end)) {
      const std::string name = key();
      if (!took(between)) throw NotPython();
      if (auto member = value()) out.set(name, *std::move(member));
      if (!took(',') && peek() != end) throw NotPython();
    }
    return out;
  }

  Value list(char end) {
    ++at_;
    ValueArray out;
    while (!took(end)) {
      if (auto element = value()) out.push_back(*std::move(element));
      if (!took(',') && peek() != end) throw NotPython();
    }
    return out;
  }

  std::optional<Value> skip_object() {
    int depth = 0;
    do {
      const char c = peek();
      if (c == '\'' || c == '"') {
        string();
        continue;
      }
      ++at_;
      depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    } while (depth > 0);
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Value> python_value(std::string_view text) {
  try {
    return PythonReader(text).value();
  } catch (const NotPython&) {
    return std::nullopt;
  }
}

}  // namespace foretoken
