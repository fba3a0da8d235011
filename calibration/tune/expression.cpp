#include "calibration/tune/expression.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

namespace foretoken::tune {
namespace {

constexpr int depth_max = 200;

struct BinaryOperator {
  std::string_view sign;
  int level;  // the higher, the tighter it binds
  double (*apply)(double, double);
};

// Longer signs first: "<=" is not "<".
constexpr std::array<BinaryOperator, 13> binary_operators{{
    {"||", 1, [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
    {"&&", 2, [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
    {"==", 3, [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"!=", 3, [](double a, double b) { return a != b ? 1.0 : 0.0; }},
    {"<=", 4, [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {">=", 4, [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
    {"<", 4, [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {">", 4, [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"+", 5, [](double a, double b) { return a + b; }},
    {"-", 5, [](double a, double b) { return a - b; }},
    {"*", 6, [](double a, double b) { return a * b; }},
    {"/", 6, [](double a, double b) { return a / b; }},
    {"%", 6, [](double a, double b) { return std::fmod(a, b); }},
}};

class Parser {
 public:
  Parser(std::string_view text, const Names& names, const SourcePosition& position)
      : text_(text), names_(&names), position_(&position) {}

  double whole() {
    const double value = choice();
    skip_space();
    if (at_ < text_.size()) fail("'{}' is not expected here", text_.substr(at_));
    return value;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> message, Args&&... args) const {
    throw ConfigError(*position_, fmt::format("in \"{}\": {}", text_,
                                              fmt::format(message, std::forward<Args>(args)...)));
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool accept(std::string_view sign) {
    skip_space();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  void expect(std::string_view sign) {
    if (!accept(sign)) fail("'{}' is missing", sign);
  }

  double choice() {
    if (++depth_ > depth_max) fail("nests deeper than {} levels", depth_max);
    double value = binary(1);
    if (accept("?")) {
      const double yes = choice();
      expect(":");
      const double no = choice();
      value = value != 0 ? yes : no;
    }
    --depth_;
    return value;
  }

  const BinaryOperator* binary_operator(int level) {
    skip_space();
    for (const BinaryOperator& candidate : binary_operators) {
      if (!text_.substr(at_).starts_with(candidate.sign)) continue;
      if (candidate.level < level) return nullptr;
      at_ += candidate.sign.size();
      return &candidate;
    }
    return nullptr;
  }

  double binary(int level) {
    double value = unary();
    while (const BinaryOperator* found = binary_operator(level)) {
      const double right = binary(found->level + 1);
      if ((found->sign == "/" || found->sign == "%") && right == 0) fail("divides by zero");
      value = found->apply(value, right);
    }
    return value;
  }

  double unary() {
    if (++depth_ > depth_max) fail("nests deeper than {} levels", depth_max);
    double value = 0;
    if (accept("!")) {
      value = unary() == 0 ? 1.0 : 0.0;
    } else if (accept("-")) {
      value = -unary();
    } else if (accept("(")) {
      value = choice();
      expect(")");
    } else {
      value = operand();
    }
    --depth_;
    return value;
  }

  double operand() {
    skip_space();
    const std::size_t start = at_;
    if (start >= text_.size()) fail("a value is missing at the end");
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      double value = 0;
      const auto [end, problem] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (problem != std::errc()) fail("a number cannot be read");
      at_ = static_cast<std::size_t>(end - text_.data());
      return value;
    }
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    const std::string_view name = text_.substr(start, at_ - start);
    if (name.empty()) fail("'{}' is not expected here", text_.substr(start, 1));
    if (accept("(")) return call(name);
    const auto found = names_->find(name);
    if (found == names_->end()) fail("unknown name '{}'", name);
    return found->second;
  }

  double call(std::string_view name) {
    std::vector<double> of{choice()};
    while (accept(",")) of.push_back(choice());
    expect(")");
    const std::size_t wanted = name == "sqrt" ? 1 : 2;
    if (of.size() != wanted) fail("{}() takes {} values", name, wanted);
    if (name == "sqrt") return std::sqrt(of[0]);
    if (name == "min") return std::min(of[0], of[1]);
    if (name == "max") return std::max(of[0], of[1]);
    if (name != "ceildiv") fail("there is no function '{}'", name);
    if (of[1] == 0) fail("divides by zero");
    return std::ceil(of[0] / of[1]);
  }

  std::string_view text_;
  const Names* names_;
  const SourcePosition* position_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluate(std::string_view text, const Names& names, const SourcePosition& position) {
  return Parser(text, names, position).whole();
}

}  // namespace foretoken::tune
