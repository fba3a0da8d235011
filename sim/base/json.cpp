#include "sim/base/json.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sim/base/file_text.hpp"
#include "sim/base/nesting.hpp"

namespace foretoken {
namespace {

using Json = nlohmann::ordered_json;

/// The longest document that is parsed; its tree takes up to 60 times as much memory.
constexpr std::size_t text_bytes_max = std::size_t{32} << 20;

/// Python writes these words, for which JSON and nlohmann have none; each stands as a string that
/// no file holds while the text is parsed.
struct OddNumber {
  std::string_view word, stand_in;
  double value;
};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr auto odd_numbers =
    std::to_array<OddNumber>({{"-Infinity", "\x01-Infinity", -infinity},
                              {"Infinity", "\x01Infinity", infinity},
                              {"NaN", "\x01NaN", std::numeric_limits<double>::quiet_NaN()}});

/// `text` with those words, outside of strings, made strings.
std::string with_stand_ins(std::string_view text) {
  std::string out;
  bool is_in_string = false;
  while (!text.empty()) {
    const auto odd = std::ranges::find_if(
        odd_numbers, [&](const OddNumber& number) { return text.starts_with(number.word); });
    if (!is_in_string && odd != odd_numbers.end()) {
      out += fmt::format("\"\\u0001{}\"", odd->word);
      text.remove_prefix(odd->word.size());
      continue;
    }
    const bool is_escape = is_in_string && text.front() == '\\' && text.size() > 1;
    if (text.front() == '"') is_in_string = !is_in_string;
    const std::size_t taken = is_escape ? 2 : 1;
    out += text.substr(0, taken);
    text.remove_prefix(taken);
  }
  return out;
}

/// A string, or the number that it stands for.
Value text_value(std::string text) {
  const auto odd = std::ranges::find(odd_numbers, text, &OddNumber::stand_in);
  return odd == odd_numbers.end() ? Value(std::move(text)) : Value(odd->value);
}

/// The line of the character at `end`, from 1.
int line_at(std::string_view text, std::size_t end) {
  const auto place = static_cast<std::ptrdiff_t>(std::min(end, text.size()));
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + place, '\n'));
}

/// The line of the first bracket within more than levels_max others.
int line_too_deep(std::string_view text) {
  int level = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == ']' || c == '}') --level;
    if ((c == '[' || c == '{') && ++level > levels_max + 1) return line_at(text, i);
  }
  return 0;
}

/// Of equal keys the first's place and the last's value.
void merge_equal_keys(ValueObject& members) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) -> std::string_view { return members[i].first; });
  std::vector<std::size_t> superfluous;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && members[order[end]].first == members[order[begin]].first) ++end;
    if (end - begin == 1) continue;
    std::swap(members[order[begin]].second, members[order[end - 1]].second);
    superfluous.insert(superfluous.end(), order.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                       order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  if (superfluous.empty()) return;
  std::ranges::sort(superfluous);
  ValueObject kept;
  kept.reserve(members.size() - superfluous.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!std::ranges::binary_search(superfluous, i)) kept.push_back(std::move(members[i]));
  }
  members = std::move(kept);
}

/// Builds the Value while nlohmann reads: linear in the text, and no deeper than levels_max (which
/// ~Value could not free). A document of nlohmann's own keeps members in a list that it searches
/// for every key.
class ValueBuilder final : public nlohmann::json_sax<Json> {
 public:
  ValueBuilder(std::string_view text, const SourcePosition& position)
      : text_(text), position_(position) {}

  bool null() override {
    if (open_.empty()) return add(Value());
    return true;  // dropped
  }
  bool boolean(bool value) override { return add(Value(value)); }
  bool number_integer(number_integer_t value) override { return add(Value(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto limit = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (value > limit) return add(Value(static_cast<double>(value)));
    return add(Value(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t& /*digits*/) override {
    return add(Value(value));
  }
  bool string(string_t& value) override { return add(text_value(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON has none

  bool start_object(std::size_t /*members*/) override { return open(Value()); }
  bool key(string_t& name) override {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_object() override {
    merge_equal_keys(std::get<ValueObject>(open_.back().value.data));
    return close();
  }
  bool start_array(std::size_t /*elements*/) override { return open(Value(ValueArray{})); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t byte, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    constexpr int number_out_of_range = 406;
    if (error.id == number_out_of_range)
      throw ConfigError(position_, "is not valid JSON (a number is beyond 1.8e308)");
    SourcePosition place = position_;
    if (place.line == 0) place.line = line_at(text_, byte);
    throw ConfigError(place,
                      "is not valid JSON (cut off, or a quote, comma or bracket is missing)");
  }

  Value take() { return std::move(root_); }

 private:
  struct Open {
    Value value;
    std::string key;  // of the member that comes next
  };

  bool open(Value value) {
    if (open_.size() > levels_max) {
      SourcePosition place = position_;
      if (place.line == 0) place.line = line_too_deep(text_);
      throw ConfigError(place, too_deep_message());
    }
    open_.push_back({std::move(value), {}});
    return true;
  }

  bool close() {
    Value value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  bool add(Value value) {
    value.position = position_;
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (auto* array = std::get_if<ValueArray>(&open_.back().value.data)) {
      array->push_back(std::move(value));
    } else {
      std::get<ValueObject>(open_.back().value.data)
          .emplace_back(std::move(open_.back().key), std::move(value));
    }
    return true;
  }

  std::string_view text_;
  const SourcePosition& position_;
  std::vector<Open> open_;
  Value root_;
};

Json convert(const Value& value) {
  return std::visit(
      [](const auto& data) -> Json {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Data, ValueObject>) {
          Json object = Json::object();
          // Past its operator[], which looks through all members for each.
          auto& members =
              static_cast<Json::object_t::Container&>(object.get_ref<Json::object_t&>());
          for (const auto& [key, member] : data) members.emplace_back(key, convert(member));
          return object;
        } else if constexpr (std::is_same_v<Data, ValueArray>) {
          Json array = Json::array();
          for (const Value& element : data) array.push_back(convert(element));
          return array;
        } else {
          return data;
        }
      },
      value.data);
}

/// JSON may hold DEL and the C1 controls as they are; a terminal would obey them.
std::string escaped(std::string text) {
  const auto is_control = [&](std::size_t i) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    return byte(i) == 0x7F || (byte(i) == 0xC2 && i + 1 < text.size() && byte(i + 1) < 0xA0);
  };
  for (std::size_t i = text.find_first_of("\x7F\xC2"); i != std::string::npos;
       i = text.find_first_of("\x7F\xC2", i + 1)) {
    if (!is_control(i)) continue;
    const std::size_t bytes = text[i] == '\x7F' ? 1 : 2;
    const auto code = static_cast<unsigned char>(text[i + bytes - 1]);
    text.replace(i, bytes, fmt::format("\\u{:04x}", static_cast<unsigned>(code)));
  }
  return text;
}

}  // namespace

Value parse_json(std::string_view text, const SourcePosition& position) {
  if (text.size() > text_bytes_max) throw ConfigError(position, too_long_message(text_bytes_max));
  const bool may_be_odd =
      text.find("Infinity") != std::string_view::npos || text.find("NaN") != std::string_view::npos;
  const std::string replaced = may_be_odd ? with_stand_ins(text) : "";
  if (may_be_odd) text = replaced;
  ValueBuilder builder(text, position);
  Json::sax_parse(text, &builder);
  return builder.take();
}

Value load_json(const std::filesystem::path& path) {
  return parse_json(file_text(path, text_bytes_max), {path.string()});
}

std::string to_json(const Value& value, int indent) {
  // A path in a string need not be UTF-8; writing it must not throw.
  return escaped(convert(value).dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace foretoken
