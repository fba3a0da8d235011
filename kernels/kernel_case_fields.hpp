// The fields that cases of several kernels share or that take more than one key: sizes, the
// sequences of an attention launch, the routing of experts. For kernel_case.cpp only.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/attention_load.hpp"
#include "kernels/routing.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

/// Largest size a case may name: products of two sizes stay within 64 bit.
inline constexpr std::int64_t case_size_max = 1'000'000'000;
inline constexpr std::string_view case_size_rule = "must be from 1 to 1000000000";

/// Reads an optional size; one out of range is reported and becomes 0, so that checks between
/// fields can leave it out.
template <class Integer>
void read_size(TableReader& table, std::string_view key, Integer& out) {
  table.read(key, out);
  if (out >= 1 && out <= case_size_max) return;
  table.expect(key, false, case_size_rule);
  out = 0;
}

/// The same for a size that must be there.
template <class Integer>
void require_size(TableReader& table, std::string_view key, Integer& out) {
  out = 0;
  if (table.require(key, out)) read_size(table, key, out);
}

/// query_tokens[] and context_tokens[].
AttentionLoad read_load(TableReader& table);

/// routing, balancedness or histogram[] for `assignments` over `experts`; balanced if absent. A
/// histogram must match both, unless they are 0 (reported already).
Routing read_routing(TableReader& table, std::int64_t assignments, int experts);

}  // namespace foretoken
