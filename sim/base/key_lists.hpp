// A key that holds a list of tables, [[table.key]]: each is read by the same list of keys. Absent
// and broken lists are empty; what is broken was reported.
#pragma once

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "sim/base/keys.hpp"

namespace foretoken {

/// `remedy` completes "is an integer; ...": what to write, with an example. `check(table, element,
/// before)` may report what is wrong with an element, given those before it.
template <class S, class Check>
std::vector<S> read_list(TableReader& owner, std::string_view key, const Keys<S>& keys,
                         std::string_view remedy, const Check& check) {
  const Value* given = owner.find(key);
  if (given == nullptr) return {};
  const auto* elements = std::get_if<ValueArray>(&given->data);
  if (elements == nullptr || elements->empty()) {
    owner.fail(key, fmt::format("is {}; {}", elements ? "empty" : type_name(*given), remedy),
               Mistake::slip);
    return {};
  }
  std::vector<S> list;
  for (const Value& element : *elements) {
    if (!element.is_object()) {
      owner.fail(key, fmt::format("holds {}; {}", type_name(element), remedy), Mistake::slip);
      return {};
    }
    TableReader table(element, owner.diagnostics(), owner.full_name(key));
    S one;
    keys.read(table, one);
    check(table, one, std::as_const(list));
    table.finish();
    list.push_back(std::move(one));
  }
  return list;
}

/// For lists that name each thing once.
template <class S, class Member>
void expect_once(TableReader& table, std::string_view key, const S& one,
                 const std::vector<S>& before, Member S::*member) {
  for (const S& other : before) {
    if (other.*member != one.*member) continue;
    table.expect(key, false,
                 fmt::format("{} is given twice; merge both into one table", one.*member));
  }
}

template <class S>
Value list_value(const std::vector<S>& list, const Keys<S>& keys) {
  ValueArray out;
  for (const S& one : list) out.push_back(keys.table(one));
  return out;
}

}  // namespace foretoken
