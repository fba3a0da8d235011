// A setting lives once: the struct that a table's keys set is the one that its room uses. A second
// struct with the same members would have to be filled by hand, and would be forgotten.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/architecture/source_tree.hpp"

namespace foretoken::architecture {
namespace {

using Members = std::set<std::string>;  // "int attempts_max"

bool is_where_settings_go(const std::string& path) {
  for (const char* room :
       {"sim/scenario/", "sim/serving/", "sim/metrics/", "sim/prices/", "sim/run/"}) {
    if (path.starts_with(room)) return true;
  }
  return false;
}

/// The text between the braces that open at `open`.
std::string body_at(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return "";
}

Members members_of(const std::string& body) {
  static const std::regex member(
      R"(^  ([A-Za-z_][\w:<>]*) (\w+(?:(?: = [^,;()]+|\{[^}]*\})?, \w+)*))"
      R"((?: = [^;]*|\{[^;]*\})?;)");
  static const std::regex name(R"(([a-z]\w*)(?: = [^,]+|\{[^}]*\})?)");
  Members members;
  for (std::size_t begin = 0; begin < body.size();) {
    const std::size_t end = std::min(body.find('\n', begin), body.size());
    const std::string line = body.substr(begin, end - begin);
    begin = end + 1;
    std::smatch found;
    if (!std::regex_search(line, found, member)) continue;
    const std::string names = found[2];
    for (std::sregex_iterator i(names.begin(), names.end(), name), last; i != last; ++i)
      members.insert(found[1].str() + " " + (*i)[1].str());
  }
  return members;
}

std::map<std::string, Members> structs() {
  static const std::regex declared(R"(\nstruct (\w+)(?: final)?(?: : [^{;]+)? \{)");
  std::map<std::string, Members> found;
  for (const SourceFile& file : room_files()) {
    if (!is_where_settings_go(file.path)) continue;
    const std::string& text = file.text;
    for (std::sregex_iterator i(text.begin(), text.end(), declared), last; i != last; ++i) {
      const auto open = static_cast<std::size_t>(i->position() + i->length() - 1);
      found[(*i)[1].str()] = members_of(body_at(text, open));
    }
  }
  return found;
}

std::set<std::string> structs_with_keys() {
  static const std::regex declared(R"(Keys<(\w+)>)");
  std::set<std::string> found;
  for (const SourceFile& file : room_files()) {
    // What rooms are set to; the tables of sim/scenario say how a file puts it.
    if (!file.path.starts_with("sim/serving/settings/") && !file.path.starts_with("sim/metrics/"))
      continue;
    for (std::sregex_iterator i(file.text.begin(), file.text.end(), declared), last; i != last; ++i)
      found.insert((*i)[1].str());
  }
  return found;
}

TEST(Settings, AreFound) {
  const auto all = structs();
  ASSERT_TRUE(all.contains("FrontEndSettings"));
  EXPECT_EQ(all.at("FrontEndSettings").size(), 8U);
  EXPECT_TRUE(structs_with_keys().contains("AutoscalerSettings"));
  EXPECT_TRUE(all.at("AutoscalerSettings").contains("Seconds cooldown_down"));
}

TEST(Settings, LiveInOneStruct) {
  const auto all = structs();
  for (const std::string& settings : structs_with_keys()) {
    const auto own = all.find(settings);
    if (own == all.end()) continue;
    for (const auto& [other, members] : all) {
      if (other == settings) continue;
      Members shared;
      for (const std::string& member : own->second) {
        if (members.contains(member)) shared.insert(member);
      }
      const std::size_t smaller = std::min(own->second.size(), members.size());
      const bool is_twin = shared.size() >= 3 || (shared.size() == 2 && smaller == 2);
      EXPECT_FALSE(is_twin) << other << " repeats settings of " << settings << ", such as '"
                            << *shared.begin() << "'; use the one struct in both places";
    }
  }
}

}  // namespace
}  // namespace foretoken::architecture
