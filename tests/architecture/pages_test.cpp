// The documentation's pages: the front page stays a newcomer's, and a link leads somewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/architecture/source_tree.hpp"

namespace foretoken::architecture {
namespace {

constexpr std::ptrdiff_t front_page_lines_max = 150;

std::vector<SourceFile> pages() {
  std::vector<SourceFile> found;
  for (const char* folder :
       {"calibration", "examples", "hardware", "kernels", "models", "sim", "tests", "workloads"}) {
    std::ranges::move(files_below(folder, {".md"}), std::back_inserter(found));
  }
  for (const char* page : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}) {
    found.push_back(read_source(page));
  }
  return found;
}

/// As web hosts name the places of a page: lower case, hyphens for spaces, punctuation dropped.
std::set<std::string> anchors_of(const std::string& page) {
  std::set<std::string> anchors;
  static const std::regex heading("(^|\n)#+ ([^\n]*)");
  for (std::sregex_iterator match(page.begin(), page.end(), heading), end; match != end; ++match) {
    std::string anchor;
    for (const char letter : match->str(2)) {
      if (letter == ' ') {
        anchor += '-';
      } else if (std::isalnum(static_cast<unsigned char>(letter)) || letter == '-' ||
                 letter == '_') {
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST(Pages, TheFrontPageIsShort) {
  EXPECT_LE(std::ranges::count(read_source("README.md").text, '\n'), front_page_lines_max)
      << "what a newcomer does not need has a page of its own";
}

TEST(Pages, LinksLeadSomewhere) {
  static const std::regex link("\\]\\(([^)#\\s]*)(#[^)\\s]*)?\\)");
  std::size_t links = 0;
  for (const SourceFile& page : pages()) {
    const auto folder = std::filesystem::path(page.path).parent_path();
    for (std::sregex_iterator match(page.text.begin(), page.text.end(), link), end; match != end;
         ++match) {
      const std::string target = match->str(1), anchor = match->str(2);
      if (target.starts_with("http")) continue;
      ++links;
      const auto path =
          target.empty() ? std::filesystem::path(page.path) : (folder / target).lexically_normal();
      const auto root = std::filesystem::path(FORETOKEN_SOURCE_DIR);
      if (!std::filesystem::exists(root / path)) {
        ADD_FAILURE() << page.path << ": " << target << " does not exist";
        continue;
      }
      if (anchor.empty()) continue;
      const auto file = std::filesystem::is_directory(root / path) ? path / "README.md" : path;
      EXPECT_TRUE(anchors_of(read_source(file.string()).text).contains(anchor.substr(1)))
          << page.path << ": " << file.string() << " has no heading " << anchor;
    }
  }
  EXPECT_GT(links, 20U);
}

}  // namespace
}  // namespace foretoken::architecture
