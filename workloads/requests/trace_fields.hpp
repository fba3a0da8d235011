// What the lines of several trace formats have in common: comma-separated fields, token counts,
// times. Each function throws BadLine with the field's name and what it must be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

/// The fields between commas, without surrounding blanks. Quotes have no meaning.
std::vector<std::string_view> comma_fields(std::string_view line);

/// A line of JSON, which must be an object.
Value json_line(std::string_view line);

/// The member `key`. Throws BadLine if there is none.
const Value& member(const Value& row, std::string_view key);
/// A member within members: path "usage.prompt_tokens"; nullptr if there is none.
const Value* find_member(const Value& row, std::string_view path);
/// The member `key` as a list.
const ValueArray& list(const Value& row, std::string_view key);

/// A token count from 1 to 2147483647.
int token_count(std::string_view text, std::string_view name);
int token_count(const Value& row, std::string_view key);
int token_count_of(const Value& value, std::string_view name);

/// A finite number of units (1 or 0.001 s), at most 4e9 s from 0 (the year 2096 in Unix time).
std::int64_t time_ns(std::string_view text, std::string_view name, double unit_s);
std::int64_t time_ns(const Value& row, std::string_view key, double unit_s);

/// The member `key`, a number of units of 1 or 0.001 s, at least 0.
std::int64_t delay_ns(const Value& row, std::string_view key, double unit_s = 1e-3);

std::int64_t time_ns_of(const Value& value, std::string_view name, double unit_s);

/// An integer or another number, or nothing.
std::optional<double> number_of(const Value* value);

/// The member `key` as hashes, or none if it is absent.
std::vector<std::uint64_t> hashes(const Value& row, std::string_view key);
/// Hashes that cover all before them, of blocks that are numbered each for itself. What differs in
/// `scope` shares nothing.
std::vector<std::uint64_t> covering_hashes(const std::vector<std::uint64_t>& blocks,
                                           std::string_view scope);
/// Throws BadLine unless there are none, or one for each block of `tokens`, the last of which may
/// be part full.
void expect_blocks(const std::vector<std::uint64_t>& hashes, std::int64_t tokens, int block_tokens,
                   std::string_view name);

/// The member `key`, a name or a number, as text; "" if it is absent or null.
std::string name_of(const Value& row, std::string_view key);

}  // namespace foretoken
