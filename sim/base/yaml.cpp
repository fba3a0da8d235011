#include "sim/base/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <optional>
#include <sstream>

#include "sim/base/nesting.hpp"

namespace foretoken {
namespace {

constexpr std::size_t yaml_bytes_max = std::size_t{4} << 20U;
/// Values of a text with its aliases followed; the longest manifests have some thousands.
constexpr std::size_t yaml_values_max = 200'000;

template <class Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number number{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || read != end) return std::nullopt;
  return number;
}

/// A number begins with a digit, a sign or a point: "inf" and "nan" are words.
bool may_be_number(std::string_view text) {
  return !text.empty() && text.find_first_of("0123456789") != std::string_view::npos &&
         text.find_first_not_of("0123456789+-.eE_") == std::string_view::npos;
}

bool is_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

/// A scalar without quotes.
Value plain_scalar(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (may_be_number(text)) {
    if (const auto whole = whole_text_as<std::int64_t>(text)) return *whole;
    if (const auto number = whole_text_as<double>(text)) return *number;
  }
  return text;
}

class YamlReader {
 public:
  explicit YamlReader(const std::string& source) : source_(source) {}

  Value read(const YAML::Node& node, int depth = 0) {
    if (depth > levels_max) throw ConfigError(place(node), too_deep_message());
    if (++values_ > yaml_values_max) {
      throw ConfigError(
          place(node), fmt::format("this document has more than {} values once its aliases (*name) "
                                   "are followed; write it out without them",
                                   yaml_values_max));
    }
    Value value = node.IsSequence() ? list(node, depth)
                  : node.IsMap()    ? table(node, depth)
                                    : scalar(node);
    value.position = place(node);
    return value;
  }

 private:
  [[nodiscard]] SourcePosition place(const YAML::Node& node) const {
    const YAML::Mark mark = node.Mark();
    if (mark.is_null()) return {source_};
    return {source_, mark.line + 1, mark.column + 1};
  }

  Value list(const YAML::Node& node, int depth) {
    ValueArray items;
    for (const YAML::Node& item : node) items.push_back(read(item, depth + 1));
    return items;
  }

  Value table(const YAML::Node& node, int depth) {
    Value out;
    for (const auto& member : node) {
      if (!member.first.IsScalar())
        throw ConfigError(place(member.first), "a key must be plain text");
      const std::string& key = member.first.Scalar();
      if (is_absent(member.second)) continue;
      Value value = read(member.second, depth + 1);
      value.position = place(member.first);
      if (key == "<<" && value.is_object()) {
        for (auto& [name, inherited] : std::get<ValueObject>(value.data))
          if (out.find(name) == nullptr) out.set(name, std::move(inherited));
      } else {
        out.set(key, std::move(value));
      }
    }
    return out;
  }

  static bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }
  static bool is_absent(const YAML::Node& node) {
    return node.IsNull() || (node.IsScalar() && !is_quoted(node) && is_null(node.Scalar()));
  }

  static Value scalar(const YAML::Node& node) {
    if (!node.IsScalar()) return "";
    return is_quoted(node) ? Value(node.Scalar()) : plain_scalar(node.Scalar());
  }

  std::string source_;
  std::size_t values_ = 0;
};

/// Where each document begins. YAML::LoadAll() takes a token that begins no value, as a comma, for
/// a document that is empty, and never gets past it.
class DocumentStarts final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (last_ && mark.pos <= *last_) throw YAML::ParserException(mark, "a value was expected");
    last_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  std::optional<int> last_;
};

void check_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  while (parser.HandleNextDocument(starts)) continue;
}

void emit(YAML::Emitter& out, const Value& value);

void emit_text(YAML::Emitter& out, const std::string& text) {
  const bool is_block = text.find('\n') != std::string::npos;
  if (is_block) {
    out << YAML::Literal;
  } else if (is_null(text) || !plain_scalar(text).is_string()) {
    out << YAML::DoubleQuoted;
  }
  out << text;
}

void emit_members(YAML::Emitter& out, const Value& value) {
  if (const auto* items = std::get_if<ValueArray>(&value.data)) {
    out << YAML::BeginSeq;
    for (const Value& item : *items) emit(out, item);
    out << YAML::EndSeq;
    return;
  }
  out << YAML::BeginMap;
  for (const auto& [key, member] : std::get<ValueObject>(value.data)) {
    out << YAML::Key;
    emit_text(out, key);
    out << YAML::Value;
    emit(out, member);
  }
  out << YAML::EndMap;
}

void emit(YAML::Emitter& out, const Value& value) {
  if (value.is_object() || value.is_array()) return emit_members(out, value);
  if (value.is_string()) return emit_text(out, std::get<std::string>(value.data));
  if (const auto* flag = std::get_if<bool>(&value.data)) {
    out << (*flag ? "true" : "false");
  } else if (const auto* whole = std::get_if<std::int64_t>(&value.data)) {
    out << fmt::format("{}", *whole);
  } else {
    out << fmt::format("{}", std::get<double>(value.data));
  }
}

}  // namespace

std::vector<Value> parse_yaml(std::string_view text, const std::string& source) {
  if (text.size() > yaml_bytes_max) {
    throw ConfigError({source},
                      fmt::format("this YAML is longer than {} MiB", yaml_bytes_max >> 20U));
  }
  std::vector<Value> documents;
  try {
    YamlReader reader(source);
    const std::string whole(text);
    check_documents(whole);
    for (const YAML::Node& node : YAML::LoadAll(whole)) {
      if (!node.IsDefined() || node.IsNull()) continue;
      documents.push_back(reader.read(node));
    }
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 0 : error.mark.line + 1;
    throw ConfigError({source, line, line == 0 ? 0 : error.mark.column + 1},
                      fmt::format("this is not YAML: {}", error.msg));
  }
  return documents;
}

std::string to_yaml(const Value& value) {
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Block);
  emit(out, value);
  FORETOKEN_CHECK(out.good(), "YAML was not written: {}", out.GetLastError());
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace foretoken
