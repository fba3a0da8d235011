// What a reviewer would otherwise have to say each time: files stay small and say what they are,
// libraries neither print nor exit, and nothing that could make two runs differ gets in.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/architecture/source_tree.hpp"

namespace foretoken::architecture {
namespace {

constexpr std::ptrdiff_t lines_max = 300, lines_max_long = 500;

/// Files that were longer when the rule came; none may join them.
constexpr std::string_view long_files = "tests/architecture/long_files.txt";

std::vector<SourceFile> rooms_and_tests() {
  std::vector<SourceFile> files = room_files();
  for (const char* folder : {"tests", "examples"}) {
    std::ranges::move(files_below(folder, {".hpp", ".cpp"}), std::back_inserter(files));
  }
  return files;
}

/// The rooms that are libraries: all but the program itself and calibration's own programs. One
/// file forks children, which have to end.
bool is_library(const SourceFile& file) {
  return !file.path.starts_with("sim/app/") && !file.path.starts_with("calibration/") &&
         file.path != "sim/processes/child_processes.cpp";
}

/// Reports each match of `pattern` in the code of `files`, comments and strings left out.
void expect_absent(const std::vector<SourceFile>& files, const char* pattern, const char* remedy) {
  const std::regex forbidden(pattern);
  for (const SourceFile& file : files) {
    const SourceFile code{file.path, code_only(file.text)};
    for (std::sregex_iterator match(code.text.begin(), code.text.end(), forbidden), end;
         match != end; ++match) {
      ADD_FAILURE() << place(code, static_cast<std::size_t>(match->position())) << ": '"
                    << match->str() << "': " << remedy;
    }
  }
}

std::vector<SourceFile> libraries() {
  std::vector<SourceFile> files = room_files();
  std::erase_if(files, [](const SourceFile& file) { return !is_library(file); });
  return files;
}

TEST(HouseRules, FilesStaySmall) {
  std::set<std::string> known;
  std::istringstream list(read_source(std::string(long_files)).text);
  for (std::string path; std::getline(list, path);) known.insert(path);
  for (const SourceFile& file : rooms_and_tests()) {
    const std::ptrdiff_t lines = std::ranges::count(file.text, '\n');
    const bool is_known = known.erase(file.path) > 0;
    EXPECT_LE(lines, is_known ? lines_max_long : lines_max)
        << file.path << ": split it; what reads on its own is a file";
    EXPECT_TRUE(!is_known || lines > lines_max)
        << file.path << " is short enough: take it off " << long_files;
  }
  for (const std::string& path : known) {
    ADD_FAILURE() << path << " is gone: take it off " << long_files;
  }
}

TEST(HouseRules, NoDrawersForEverything) {
  const std::regex drawer("(^|[/_])(utils?|helpers?|managers?|common|misc)([._/]|$)");
  for (const SourceFile& file : rooms_and_tests()) {
    EXPECT_FALSE(std::regex_search(file.path, drawer)) << file.path << ": name what it does";
  }
}

/// Paths that a room's CMakeLists.txt names after APART: compiled alone.
std::vector<std::string> files_apart() {
  std::vector<std::string> apart;
  const std::regex source("[a-z0-9_/]+\\.cpp");
  for (const char* room : {"sim", "hardware", "kernels", "models", "workloads", "calibration"}) {
    for (const SourceFile& file : files_below(room, {".txt"})) {
      const std::string listed =
          file.text.substr(std::min(file.text.find("APART"), file.text.size()));
      for (std::sregex_iterator match(listed.begin(), listed.end(), source), end; match != end;
           ++match) {
        apart.push_back("/" + match->str());
      }
    }
  }
  return apart;
}

/// How many parameters the list has that opens at `open`.
int parameters(const std::string& text, std::size_t open) {
  int depth = 0, commas = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '<' || c == '{') ++depth;
    if (c == ',' && depth == 1) ++commas;
    if ((c == ')' || c == '>' || c == '}') && --depth == 0) break;
  }
  return text[open + 1] == ')' ? 0 : commas + 1;
}

/// The functions in a file's anonymous namespaces, "name/parameters".
std::set<std::string> file_local_functions(const SourceFile& file) {
  std::set<std::string> functions;
  const std::regex function("^[A-Za-z][A-Za-z0-9_:<>,&* \\[\\]]*[ &*]([a-z][a-z0-9_]*)\\(.*");
  std::istringstream lines(file.text);
  bool is_local = false;
  std::size_t start = 0;
  for (std::string line; std::getline(lines, line); start += line.size() + 1) {
    if (line == "namespace {") is_local = true;
    if (line == "}  // namespace") is_local = false;
    std::smatch match;
    if (!is_local || !std::regex_match(line, match, function)) continue;
    const auto open = start + static_cast<std::size_t>(match.position(1) + match.length(1));
    functions.insert(match.str(1) + "/" + std::to_string(parameters(file.text, open)));
  }
  return functions;
}

/// Whose files may be compiled together with this one: a room's, or a folder's elsewhere.
std::string compiled_with(const SourceFile& file) {
  const std::filesystem::path root = FORETOKEN_SOURCE_DIR;
  const std::regex calibration_room("(calibration/[a-z]+)/.*");
  std::smatch match;
  if (std::regex_match(file.path, match, calibration_room) && match.str(1) != "calibration/tune")
    return match.str(1);
  for (std::filesystem::path folder = file.folder(); !folder.empty();
       folder = folder.parent_path()) {
    std::ifstream lists(root / folder / "CMakeLists.txt");
    const std::string text{std::istreambuf_iterator<char>(lists), {}};
    if (text.find("foretoken_room(") != std::string::npos) return folder.string();
    if (!text.empty()) break;
  }
  return file.folder();
}

// Files of a room are compiled together, where two functions of one name would be overloads: a
// call could silently go to the neighbour's that takes as many arguments.
TEST(HouseRules, FileLocalFunctionsOfARoomDiffer) {
  const std::vector<std::string> apart = files_apart();
  ASSERT_FALSE(apart.empty());
  std::map<std::pair<std::string, std::string>, std::string> seen;  // (room, name) -> file
  for (const SourceFile& file : room_files()) {
    const bool is_alone = std::ranges::any_of(
        apart, [&](const std::string& end) { return ("/" + file.path).ends_with(end); });
    if (file.extension() != ".cpp" || is_alone) continue;
    for (const std::string& name : file_local_functions(file)) {
      const auto [other, is_new] = seen.try_emplace({compiled_with(file), name}, file.path);
      EXPECT_TRUE(is_new) << file.path << " and " << other->second << " both have a function '"
                          << name
                          << "': rename one, or name the file after APART (CONTRIBUTING.md)";
    }
  }
  EXPECT_GT(seen.size(), 500U);
}

// Two types of one name in one namespace make a program whose meaning the linker chooses.
TEST(HouseRules, TypesOfANamespaceDiffer) {
  const std::regex opened("(?:^|\\n)namespace ([a-z_:]+) \\{");
  const std::regex defined(
      "(?:^|\\n)(?:struct|class|enum class) ([A-Z][A-Za-z0-9]*)(?: final)?(?: : [^{;]*)? \\{");
  std::map<std::string, std::string> seen;  // namespace::name -> file
  for (const SourceFile& file : room_files()) {
    std::smatch space;
    if (file.extension() != ".hpp" || !std::regex_search(file.text, space, opened)) continue;
    for (std::sregex_iterator match(file.text.begin(), file.text.end(), defined), end; match != end;
         ++match) {
      const auto [other, is_new] = seen.try_emplace(space.str(1) + "::" + match->str(1), file.path);
      EXPECT_TRUE(is_new) << file.path << " and " << other->second << " both define "
                          << other->first;
    }
  }
  EXPECT_GT(seen.size(), 500U);
}

TEST(HouseRules, NamesAreSnakeCase) {
  const std::regex snake("[a-z0-9_]+\\.[a-z]+");
  for (const SourceFile& file : rooms_and_tests()) {
    EXPECT_TRUE(std::regex_match(file.name(), snake)) << file.path;
  }
}

TEST(HouseRules, HeadersOpenWithWhatTheyAre) {
  for (const SourceFile& file : rooms_and_tests()) {
    if (file.extension() != ".hpp") continue;
    EXPECT_TRUE(file.text.starts_with("// ")) << file.path << " opens without a comment";
    EXPECT_NE(file.text.find("\n#pragma once\n"), std::string::npos) << file.path;
  }
}

TEST(HouseRules, NothingIsLeftForLater) {
  // Put together here, so that this file does not match itself.
  const std::regex marker(std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X|HA" + "CK)\\b");
  std::vector<SourceFile> files = rooms_and_tests();
  for (const char* folder :
       {"sim", "models", "workloads", "hardware", "kernels", "calibration", "tests", "examples"}) {
    std::ranges::move(files_below(folder, {".txt", ".cmake", ".sh", ".toml"}),
                      std::back_inserter(files));
  }
  for (const SourceFile& file : files) {
    std::smatch match;
    EXPECT_FALSE(std::regex_search(file.text, match, marker)) << file.path << ": " << match.str();
  }
}

TEST(HouseRules, HeadersOpenNoNamespaceForOthers) {
  std::vector<SourceFile> headers = rooms_and_tests();
  std::erase_if(headers, [](const SourceFile& file) { return file.extension() != ".hpp"; });
  expect_absent(headers, "using namespace", "a header must not do that to its includers");
}

TEST(HouseRules, LibrariesNeitherPrintNorExit) {
  expect_absent(libraries(),
                "std::(cout|cerr|clog)\\b|\\b(printf|fprintf|puts|perror)\\(|fmt::print\\(|"
                "\\b(std::)?(_?exit|abort|terminate|quick_exit)\\(",
                "return a value or throw; sim/app prints and main decides the status");
}

TEST(HouseRules, ChecksAreAlwaysOn) {
  expect_absent(libraries(), "\\bassert\\(",
                "use FORETOKEN_CHECK, or ConfigError for a user's mistake");
}

/// A fixed name below the folder for temporary files is another user's, another run's or a trap.
TEST(HouseRules, TemporaryFilesHaveAFolderOfTheirOwn) {
  std::vector<SourceFile> files = rooms_and_tests();
  std::erase_if(files, [](const SourceFile& file) {
    return file.path == "sim/base/private_folder.cpp" ||
           file.path == "calibration/tune/device/sandbox.cpp" ||  // makes none there
           file.path == "calibration/tune/device/gpu_turn.cpp";   // all users meet at one lock
  });
  expect_absent(files, "\\bTempDir\\(\\)|\\btemp_directory_path\\b|\\b(tmpnam|tempnam|mktemp)\\(",
                "use PrivateFolder, in a test own_folder()");
  for (const char* folder : {"tests", "calibration", "examples", ".ci"}) {
    std::ranges::move(files_below(folder, {".sh", ".py", ".js", ".cmake", ".txt"}),
                      std::back_inserter(files));
  }
  const std::regex fixed(std::string("[\"' =(>:-]/(var/)?t") + "mp\\b");
  for (const SourceFile& file : files) {
    std::smatch match;
    EXPECT_FALSE(std::regex_search(file.text, match, fixed))
        << file.path << ": " << match.str() << ": use mktemp -d, or a folder of one's own";
  }
}

TEST(HouseRules, NothingMakesTwoRunsDiffer) {
  std::vector<SourceFile> files = libraries();
  // Keeps to the wall clock, and takes it from here.
  std::erase_if(files, [](const auto& file) { return file.path.starts_with("sim/live/http_"); });
  expect_absent(files,
                "std::random_device|\\b(std::)?s?rand\\(|std::chrono::|\\btime\\(nullptr|"
                "std::\\w+_distribution\\b|std::shuffle\\b|std::hash<\\w+\\*>",
                "use RandomStreams with Boost.Random; the simulated clock is the only clock");
}

TEST(HouseRules, EveryCpuCountsAlike) {
  expect_absent(libraries(), "\\.r?sqrt\\(\\)",
                "Eigen's packets start from the CPU's estimate of 1/sqrt: std::sqrt each number");
}

}  // namespace
}  // namespace foretoken::architecture
