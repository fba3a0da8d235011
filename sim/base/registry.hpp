// The variants of one family (schedulers, routers, predictors …) by name. A registry is a value
// that is built by the family's catalog.cpp and passed in, so a plug-in outside the tree adds its
// own entry. There are no self-registering statics: linkers drop those from static libraries.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/keys.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {

/// `Factory` is the callable that makes the variant, e.g.
/// std::function<std::unique_ptr<Scheduler>(TableReader& options, const SchedulerContext&)>.
template <class Factory>
class Registry {
 public:
  struct Entry {
    std::string name;
    std::string summary;  // one line, shown by `foretoken list`
    Factory make;
    std::vector<KeyNote> options = {};  // the variant's own keys of its table
  };

  /// `kind` is the noun messages use: "scheduler".
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  void add(Entry added) {
    for (const Entry& entry : entries_) {
      FORETOKEN_CHECK(entry.name != added.name, "{} '{}' is registered twice", kind_, added.name);
    }
    entries_.push_back(std::move(added));
  }
  void add(std::string name, std::string summary, Factory make, std::vector<KeyNote> options = {}) {
    add(Entry{std::move(name), std::move(summary), std::move(make), std::move(options)});
  }

  /// The entry called `name`; an unknown name is a ConfigError at `position` that lists the known.
  [[nodiscard]] const Entry& find(std::string_view name, const SourcePosition& position) const {
    for (const Entry& entry : entries_) {
      if (entry.name == name) return entry;
    }
    std::vector<std::string_view> known;
    for (const Entry& entry : entries_) known.push_back(entry.name);
    throw ConfigError(position, unknown_name_message(kind_, name, known), Mistake::slip);
  }

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const std::string& kind() const { return kind_; }

 private:
  std::string kind_;
  std::vector<Entry> entries_;
};

}  // namespace foretoken
