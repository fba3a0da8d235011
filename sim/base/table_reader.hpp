// Reads one table of a Value tree into plain members, and collects every mistake with its place:
// a wrong type, a missing unit, a value out of range, an unknown key (with the nearest known one).
//
//   TableReader table(root, diagnostics, "engine");
//   table.read("sequences_max", engine.sequences_max);              // optional: keeps the default
//   table.expect("sequences_max", engine.sequences_max > 0, "must be at least 1");
//   table.finish();                                                 // reports unknown keys
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

class TableReader {
 public:
  /// `table` must be an object and outlive the reader. `name` is what messages call it ("engine");
  /// "" is the top level of a file.
  TableReader(const Value& table, Diagnostics& diagnostics, std::string name);

  /// Reads `key` into `out` if it is there. Returns whether it was there and fine.
  bool read(std::string_view key, bool& out);
  bool read(std::string_view key, int& out);
  bool read(std::string_view key, std::int64_t& out);
  bool read(std::string_view key, std::uint64_t& out);
  bool read(std::string_view key, double& out);
  bool read(std::string_view key, std::string& out);
  bool read(std::string_view key, std::vector<int>& out);
  bool read(std::string_view key, std::vector<double>& out);
  bool read(std::string_view key, std::vector<std::string>& out);

  template <class Dimension>
  bool read(std::string_view key, Quantity<Dimension>& out) {
    std::string text;
    if (!read_quantity_text(key, text, quantity_example<Quantity<Dimension>>())) return false;
    if (const auto problem = parse_quantity(text, out)) {
      return fail(key, *problem, Mistake::slip);
    }
    return true;
  }

  template <class Enum>
  requires std::is_enum_v<Enum>
  bool read(std::string_view key, Enum& out) {
    std::string text;
    if (!read(key, text)) return false;
    if (const auto value = parse_enum<Enum>(text)) {
      out = *value;
      return true;
    }
    const auto& names = EnumNames<Enum>::names;
    return fail_unknown_name(key, text, {names.begin(), names.end()});
  }

  /// As read(), and a missing key is a mistake.
  template <class T>
  bool require(std::string_view key, T& out) {
    return has(key) && read(key, out);
  }
  /// Whether `key` is there; that it is not is reported.
  bool has(std::string_view key);

  /// The member as it stands, or nullptr; counts as read.
  const Value* find(std::string_view key);
  /// The member as an object (a sub-table), or nullptr if absent or of another type (reported).
  const Value* find_table(std::string_view key);

  /// Reports `message` at `key` unless `condition` holds or the key already has a mistake.
  void expect(std::string_view key, bool condition, std::string_view message,
              Mistake mistake = Mistake::misfit);
  /// Reports a mistake at `key`; returns false for `return fail(...)`.
  bool fail(std::string_view key, std::string_view message, Mistake mistake = Mistake::misfit);

  /// Reports every key that nobody asked for. `home` names the table that a key belongs to, "" if
  /// there is none; asked where no key of this table is spelt nearly so.
  void finish(const std::function<std::string(std::string_view)>& home = {});
  /// The members nobody asked for, as a table: the options of a variant. They count as read.
  [[nodiscard]] Value take_rest();

  /// Keys that others read from the same table: finish() proposes them too.
  void also_known(const std::vector<std::string>& keys);
  /// The keys asked for so far.
  [[nodiscard]] const std::vector<std::string>& asked() const { return asked_; }

  /// Where `key` stands, or the table itself if it is absent.
  [[nodiscard]] SourcePosition position(std::string_view key) const;
  [[nodiscard]] Diagnostics& diagnostics() { return *diagnostics_; }
  /// What messages call `key`: "engine.sequences_max".
  [[nodiscard]] std::string full_name(std::string_view key) const;

 private:
  bool read_quantity_text(std::string_view key, std::string& out, std::string_view example);
  bool fail_unknown_name(std::string_view key, const std::string& name,
                         const std::vector<std::string_view>& known);

  const Value* table_;
  Diagnostics* diagnostics_;
  std::string name_;
  std::vector<std::string> asked_;
  std::vector<std::string> failed_;
};

}  // namespace foretoken
