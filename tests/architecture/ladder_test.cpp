// Who may include whom. The ladder below is the design; a room may use what it names and what that
// may use in turn. A third-party library belongs to the rooms that wrap it. CMake's link lines have
// to say the same, so that a forbidden include does not even link.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tests/architecture/source_tree.hpp"

namespace foretoken::architecture {
namespace {

using Names = std::set<std::string>;

// Room → the rooms it stands on. sim/base is the ground floor of every room.
const std::map<std::string, Names> ladder = {
    {"sim/base", {}},
    {"hardware", {"sim/base"}},
    {"kernels", {"hardware"}},
    {"kernels/networks", {"kernels"}},
    {"kernels/tiles", {"kernels/networks"}},
    {"kernels/tasks", {"kernels/tiles"}},
    {"kernels/communication", {"kernels/networks"}},
    {"kernels/estimators", {"kernels/tasks"}},
    {"kernels/predictors", {"kernels/estimators"}},
    {"models", {"kernels"}},
    {"workloads", {"models"}},
    {"sim/platform", {"hardware", "kernels/communication"}},
    {"sim/metrics", {"sim/base"}},
    {"sim/serving/settings", {"sim/base"}},
    {"sim/serving", {"workloads", "sim/platform", "sim/metrics", "sim/serving/settings"}},
    {"sim/report", {"sim/base"}},
    {"sim/terminal", {"sim/report"}},
    {"sim/scenario",
     {"hardware", "models", "workloads", "kernels/communication", "sim/metrics",
      "sim/serving/settings"}},
    {"sim/deployments", {"sim/scenario", "sim/report"}},
    {"sim/prices", {"sim/scenario", "kernels/predictors"}},
    {"sim/run", {"sim/prices", "sim/serving", "sim/report"}},
    {"sim/planner", {"sim/scenario", "sim/report"}},
    {"sim/planner/compare", {"sim/planner"}},
    {"sim/planner/sweep", {"sim/planner"}},
    {"sim/planner/plan", {"sim/planner", "sim/prices"}},
    {"sim/processes", {"sim/planner"}},
    {"sim/library", {"sim/deployments", "sim/run", "sim/processes", "sim/planner/compare"}},
    {"sim/python", {"sim/library"}},
    {"sim/live", {"sim/run"}},
    {"sim/app",
     {"sim/library", "sim/live", "sim/planner/sweep", "sim/planner/plan", "sim/terminal"}},
    {"calibration",
     {"hardware", "kernels/predictors", "kernels/communication", "models", "workloads",
      "sim/terminal"}},
};

// How an include of a third-party library begins → where it may stand.
const std::map<std::string, Names> library_homes = {
    {"simgrid/", {"sim/platform"}},
    {"xbt/", {"sim/platform"}},
    {"smpi/", {"sim/platform"}},
    {"toml++/", {"sim/base"}},
    {"nlohmann/", {"sim/base"}},
    {"yaml-cpp/", {"sim/base"}},
    {"torch/", {"calibration/train"}},
    {"ATen/", {"calibration/train"}},
    {"c10/", {"calibration/train"}},
    {"CLI/", {"sim/app", "sim/terminal", "calibration"}},
    {"pybind11/", {"sim/python"}},
    {"zlib.h", {"workloads", "sim/report"}},
    {"boost/asio/", {"sim/live"}},
    {"boost/beast/", {"sim/live"}},
    {"boost/random/", {"workloads"}},
    {"boost/math/distributions/", {"sim/base"}},
    {"sqlite3.h", {"sim/planner"}},
    {"mpi.h", {"sim/app"}},
    {"Eigen/", {"kernels/networks", "kernels/tiles", "sim/run", "calibration"}},
    {"cuda", {"calibration/measure"}},
};

bool is_in(const std::string& path, const std::string& folder) {
  return path.starts_with(folder + "/");
}

/// The room a path belongs to, "" if none; of rooms within each other the inner one.
std::string room_of(const std::string& path) {
  std::string found;
  for (const auto& [room, below] : ladder) {
    if (is_in(path, room) && room.size() > found.size()) found = room;
  }
  return found;
}

void add_reachable(const std::string& room, Names& reachable) {
  if (!reachable.insert(room).second) return;
  for (const std::string& below : ladder.at(room)) add_reachable(below, reachable);
}

Names reachable_from(const std::string& room) {
  Names reachable;
  add_reachable(room, reachable);
  return reachable;
}

/// Whether a quoted include leads into the project: the project includes by path from its root.
bool names_a_project_file(const std::string& target) {
  return std::filesystem::exists(std::filesystem::path(FORETOKEN_SOURCE_DIR) / target);
}

TEST(Ladder, SeesTheRooms) {
  Names rooms;
  for (const SourceFile& file : room_files()) rooms.insert(room_of(file.path));
  EXPECT_GE(rooms.size(), 9U) << "the tree was not found, so the other tests would prove nothing";
  EXPECT_FALSE(rooms.contains("")) << "a source file stands in no room of the ladder";
}

TEST(Ladder, HasNoCycle) {
  for (const auto& [room, below] : ladder) {
    for (const std::string& lower : below) {
      EXPECT_FALSE(reachable_from(lower).contains(room)) << room << " and " << lower;
    }
  }
}

TEST(Ladder, RoomsIncludeOnlyWhatStandsBelowThem) {
  for (const SourceFile& file : room_files()) {
    const Names reachable = reachable_from(room_of(file.path));
    for (const Include& include : includes(file)) {
      if (!names_a_project_file(include.target)) continue;
      const std::string target = room_of(include.target);
      EXPECT_TRUE(reachable.contains(target))
          << file.path << ":" << include.line << ": includes \"" << include.target << "\", but "
          << room_of(file.path) << " must not know " << (target.empty() ? "that file" : target);
    }
  }
}

TEST(Ladder, OwnHeadersAreIncludedByTheirPathFromTheRoot) {
  for (const SourceFile& file : room_files()) {
    // A project of its own, built where the GPU is and without the rest.
    if (is_in(file.path, "calibration/measure")) continue;
    for (const Include& include : includes(file)) {
      if (!include.target.ends_with(".hpp") || include.target.find('/') != std::string::npos) {
        continue;
      }
      EXPECT_FALSE(names_a_project_file(file.folder() + "/" + include.target))
          << file.path << ":" << include.line << ": write \"" << file.folder() << "/"
          << include.target << "\"";
    }
  }
}

TEST(Ladder, LibrariesStayInTheRoomsThatWrapThem) {
  for (const SourceFile& file : room_files()) {
    for (const Include& include : includes(file)) {
      for (const auto& [library, homes] : library_homes) {
        if (!include.target.starts_with(library)) continue;
        const bool at_home = std::ranges::any_of(
            homes, [&](const std::string& home) { return is_in(file.path, home); });
        EXPECT_TRUE(at_home) << file.path << ":" << include.line << ": includes <" << include.target
                             << ">, which only " << *homes.begin() << " may know";
      }
    }
  }
}

TEST(Ladder, VariantsAndPrivateFilesOfARoomStayPrivate) {
  // A variant has no header, so nobody can depend on one.
  for (const SourceFile& file : room_files()) {
    if (file.name() != "catalog.cpp") continue;
    EXPECT_TRUE(files_below(file.folder(), {".hpp"}).empty())
        << file.folder() << " holds variants; a header there invites somebody to depend on one";
  }
}

/// A header and its source as one: "sim/run/summary".
std::string unit_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

/// Unit -> the units that it includes, of the whole tree.
std::map<std::string, Names> unit_includes() {
  std::map<std::string, Names> units;
  for (const SourceFile& file : room_files()) {
    Names& included = units[unit_of(file.path)];
    for (const Include& include : includes(file)) {
      if (include.target.ends_with(".hpp")) included.insert(unit_of(include.target));
    }
  }
  return units;
}

void add_included(const std::map<std::string, Names>& units, const std::string& unit,
                  Names& included) {
  const auto found = units.find(unit);
  if (found == units.end() || !included.insert(unit).second) return;
  for (const std::string& next : found->second) add_included(units, next, included);
}

// A contract whose source is made of parts that know the contract is a knot of a few units; where
// it is larger, nobody can read one of them without the others.
TEST(Ladder, UnitsOfARoomAreNoKnot) {
  constexpr std::size_t units_max = 4;
  const std::map<std::string, Names> units = unit_includes();
  std::map<std::string, Names> included;
  for (const auto& [unit, next] : units) add_included(units, unit, included[unit]);
  for (const auto& [unit, below] : included) {
    Names knot;
    for (const std::string& other : below) {
      if (included[other].contains(unit)) knot.insert(other);
    }
    std::string names;
    for (const std::string& name : knot) names += " " + name;
    EXPECT_LE(knot.size(), units_max) << "include each other:" << names;
  }
  EXPECT_GT(units.size(), 500U);
}

TEST(Ladder, LinkLinesSayTheSame) {
  std::map<std::string, std::string> room_of_library;
  for (const auto& [room, below] : ladder) {
    room_of_library["foretoken_" + room.substr(room.rfind('/') + 1)] = room;
  }
  const std::regex library("foretoken_[a-z_]+");
  int links = 0;
  for (const auto& [room, below] : ladder) {
    const Names reachable = reachable_from(room);
    for (const SourceFile& file : files_below(room, {".txt"})) {
      if (file.name() != "CMakeLists.txt" || room_of(file.path) != room) continue;
      for (std::sregex_iterator match(file.text.begin(), file.text.end(), library), end;
           match != end; ++match) {
        const auto target = room_of_library.find(match->str());
        if (target == room_of_library.end()) continue;  // foretoken_room, foretoken_embed
        ++links;
        EXPECT_TRUE(reachable.contains(target->second))
            << place(file, static_cast<std::size_t>(match->position())) << ": " << room
            << " must not link " << target->first;
      }
    }
  }
  EXPECT_GE(links, 9) << "no link lines were found, so this proves nothing";
}

}  // namespace
}  // namespace foretoken::architecture
