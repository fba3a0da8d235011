#include "workloads/requests/trace_fields.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "sim/base/fingerprint.hpp"
#include "sim/base/json.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr double time_max_s = 4e9;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

template <class Number>
bool parse_whole(std::string_view text, Number& out) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), out);
  return status == std::errc() && end == text.data() + text.size();
}

int checked_tokens(std::int64_t tokens, std::string_view name) {
  if (tokens >= 1 && tokens <= std::numeric_limits<int>::max()) return static_cast<int>(tokens);
  throw BadLine(fmt::format("{} must be from 1 to 2147483647, found {}", name, tokens));
}

std::int64_t checked_time(double value, std::string_view name, double unit_s) {
  // Written so that NaN fails too.
  if (std::abs(value) * unit_s <= time_max_s) return std::llround(value * (unit_s * 1e9));
  throw BadLine(fmt::format("{} must be within {:g} s of 0, found {}", name, time_max_s, value));
}

}  // namespace

const Value& member(const Value& row, std::string_view key) {
  const Value* value = row.find(key);
  if (value == nullptr) throw BadLine(fmt::format("lacks \"{}\"", key));
  return *value;
}

const Value* find_member(const Value& row, std::string_view path) {
  const Value* value = &row;
  while (value != nullptr && value->is_object()) {
    const auto dot = path.find('.');
    value = value->find(path.substr(0, dot));
    if (dot == std::string_view::npos) return value;
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

const ValueArray& list(const Value& row, std::string_view key) {
  const Value& value = member(row, key);
  if (const auto* array = std::get_if<ValueArray>(&value.data)) return *array;
  throw BadLine(fmt::format("{} must be a list, found {}", key, type_name(value)));
}

std::optional<double> number_of(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&value->data))
    return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&value->data);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::vector<std::string_view> comma_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (auto comma = line.find(','); comma != std::string_view::npos; comma = line.find(',')) {
    fields.push_back(trimmed(line.substr(0, comma)));
    line.remove_prefix(comma + 1);
  }
  fields.push_back(trimmed(line));
  return fields;
}

Value json_line(std::string_view line) {
  Value row;
  try {
    row = parse_json(line, {.file = "", .line = 1});
  } catch (const ConfigError& error) {
    throw BadLine(error.diagnostics().front().message);
  }
  if (!row.is_object()) throw BadLine(fmt::format("expected {{...}}, found {}", type_name(row)));
  return row;
}

int token_count(std::string_view text, std::string_view name) {
  std::int64_t tokens = 0;
  double number = 0;  // "374.0": as data frames write columns in which something was missing
  if (!parse_whole(text, tokens) && parse_whole(text, number) && number == std::floor(number) &&
      std::abs(number) < 9e15) {
    tokens = static_cast<std::int64_t>(number);
  } else if (!parse_whole(text, tokens)) {
    throw BadLine(fmt::format("{} must be a number of tokens, found '{}'", name, text));
  }
  return checked_tokens(tokens, name);
}

int token_count_of(const Value& value, std::string_view name) {
  if (const auto* tokens = std::get_if<std::int64_t>(&value.data))
    return checked_tokens(*tokens, name);
  const auto* number = std::get_if<double>(&value.data);  // 374.0, as data frames write
  if (number != nullptr && *number == std::floor(*number) && std::abs(*number) < 9e15)
    return checked_tokens(static_cast<std::int64_t>(*number), name);
  throw BadLine(fmt::format("{} must be a {}number of tokens, found {}", name,
                            number != nullptr ? "whole " : "",
                            number != nullptr ? fmt::to_string(*number) : type_name(value)));
}

int token_count(const Value& row, std::string_view key) {
  return token_count_of(member(row, key), key);
}

std::int64_t time_ns(std::string_view text, std::string_view name, double unit_s) {
  double value = 0.0;
  if (!parse_whole(text, value)) {
    throw BadLine(fmt::format("{} must be a number, found '{}'", name, text));
  }
  return checked_time(value, name, unit_s);
}

std::int64_t time_ns_of(const Value& value, std::string_view name, double unit_s) {
  if (const auto number = number_of(&value)) return checked_time(*number, name, unit_s);
  throw BadLine(fmt::format("{} must be a number, found {}", name, type_name(value)));
}

std::int64_t time_ns(const Value& row, std::string_view key, double unit_s) {
  return time_ns_of(member(row, key), key, unit_s);
}

std::int64_t delay_ns(const Value& row, std::string_view key, double unit_s) {
  const std::int64_t delay = time_ns(row, key, unit_s);
  if (delay < 0)
    throw BadLine(fmt::format("{} must be at least 0 {}", key, unit_s < 1.0 ? "ms" : "s"));
  return delay;
}

std::vector<std::uint64_t> hashes(const Value& row, std::string_view key) {
  const Value* value = row.find(key);
  if (value == nullptr) return {};
  const auto* array = std::get_if<ValueArray>(&value->data);
  if (array == nullptr)
    throw BadLine(fmt::format("{} must be an array of integers below 2^63", key));
  std::vector<std::uint64_t> out;
  out.reserve(array->size());
  for (const Value& element : *array) {
    const auto* integer = std::get_if<std::int64_t>(&element.data);
    if (integer == nullptr)
      throw BadLine(fmt::format("{} must be an array of integers below 2^63", key));
    out.push_back(static_cast<std::uint64_t>(*integer));
  }
  return out;
}

std::vector<std::uint64_t> covering_hashes(const std::vector<std::uint64_t>& blocks,
                                           std::string_view scope) {
  std::vector<std::uint64_t> out;
  out.reserve(blocks.size());
  std::uint64_t before = Fingerprint().add(scope).value();
  for (const std::uint64_t block : blocks) {
    before = Fingerprint().add(before).add(block).value();
    out.push_back(before);
  }
  return out;
}

void expect_blocks(const std::vector<std::uint64_t>& hashes, std::int64_t tokens, int block_tokens,
                   std::string_view name) {
  const auto blocks = static_cast<std::size_t>((tokens + block_tokens - 1) / block_tokens);
  if (hashes.empty() || hashes.size() == blocks) return;
  throw BadLine(fmt::format("expected {} {} for {} tokens in blocks of {}, found {}", blocks, name,
                            tokens, block_tokens, hashes.size()));
}

std::string name_of(const Value& row, std::string_view key) {
  const Value* value = row.find(key);
  if (value == nullptr) return "";
  if (value->is_string()) return std::get<std::string>(value->data);
  if (const auto* number = std::get_if<std::int64_t>(&value->data)) return fmt::to_string(*number);
  throw BadLine(fmt::format("{} must be a name or an integer, found {}", key, type_name(*value)));
}

}  // namespace foretoken
