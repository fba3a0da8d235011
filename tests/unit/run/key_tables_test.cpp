// What `foretoken keys` knows is what scenarios hold: every key that an example resolves to is
// declared, and every declaration says something.

#include "sim/scenario/key_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/toml.hpp"
#include "sim/run/run.hpp"

namespace foretoken::key_tables_test {
namespace {

template <class Factory>
void add_options(const Registry<Factory>& registry, const std::string& table,
                 std::set<std::string>& out) {
  for (const auto& entry : registry.entries()) {
    for (const KeyNote& note : entry.options) out.insert(table + "." + note.name);
  }
}

std::set<std::string> declared_keys() {
  std::set<std::string> keys;
  for (const KeyTable& table : scenario_key_tables()) {
    for (const KeyNote& note : table.keys) keys.insert(table.name + "." + note.name);
  }
  const Catalogs catalogs;
  add_options(catalogs.schedulers, "engine", keys);
  add_options(catalogs.routers, "deployment", keys);
  return keys;
}

TEST(KeyTables, EveryKeySaysWhatItMeans) {
  for (const KeyTable& table : scenario_key_tables()) {
    EXPECT_FALSE(table.about.empty()) << table.name;
    EXPECT_FALSE(table.keys.empty()) << table.name;
    for (const KeyNote& note : table.keys) {
      EXPECT_GT(note.meaning.size(), 12U) << table.name << "." << note.name;
      EXPECT_TRUE(note.meaning.ends_with('.')) << table.name << "." << note.name;
      EXPECT_FALSE(note.type.empty()) << table.name << "." << note.name;
      EXPECT_FALSE(note.fallback.empty()) << table.name << "." << note.name;
    }
  }
}

TEST(KeyTables, NoKeyStandsTwiceInATable) {
  for (const KeyTable& table : scenario_key_tables()) {
    std::set<std::string> seen;
    for (const KeyNote& note : table.keys)
      EXPECT_TRUE(seen.insert(note.name).second) << table.name << "." << note.name;
  }
}

TEST(KeyTables, HoldEveryKeyOfTheExamples) {
  const std::set<std::string> declared = declared_keys();
  int looked_at = 0;
  for (const auto& file : std::filesystem::directory_iterator(FORETOKEN_SOURCE_DIR "/examples")) {
    if (file.path().extension() != ".toml") continue;
    const Value resolved = resolved_scenario(load_scenario(file.path(), {}));
    for (const auto& [table, members] : std::get<ValueObject>(resolved.data)) {
      if (!members.is_object() || table == "pool" || table == "predictor") continue;
      for (const auto& [key, value] : std::get<ValueObject>(members.data)) {
        ++looked_at;
        std::vector<std::string> names = {table + "." + key};
        if (value.is_object() && !declared.contains(names.front())) {  // a table of its own
          names.clear();
          for (const auto& inner : std::get<ValueObject>(value.data))
            names.push_back(table + "." + key + "." + inner.first);
        }
        for (const std::string& name : names)
          EXPECT_TRUE(declared.contains(name)) << file.path() << ": " << name << " is not declared";
      }
    }
  }
  EXPECT_GT(looked_at, 300);
}

TEST(KeyTables, KnowWhoseAKeyIs) {
  EXPECT_EQ(table_of_key("tensor_parallel"), "") << "the model's and a draft's";
  EXPECT_EQ(table_of_key("pipeline_parallel"), "[deployment]");
  EXPECT_EQ(table_of_key("rate_scale"), "[workload]");
  EXPECT_EQ(table_of_key("name"), "") << "several tables have one";
  EXPECT_EQ(table_of_key("no_such_key"), "");
}

}  // namespace
}  // namespace foretoken::key_tables_test
