// A variant is one .cpp beside its family's catalog.cpp. Each has to be in the catalog under its
// file's name, to have a test that names it, and to be used somewhere a reader can copy from.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <regex>

#include "tests/architecture/source_tree.hpp"

namespace foretoken::architecture {
namespace {

struct Variant {
  const SourceFile* file;
  const SourceFile* catalog;
};

const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> files = room_files();
  return files;
}

std::vector<Variant> variants() {
  std::vector<Variant> found;
  for (const SourceFile& catalog : sources()) {
    if (catalog.name() != "catalog.cpp") continue;
    for (const SourceFile& file : sources()) {
      if (file.folder() == catalog.folder() && &file != &catalog)
        found.push_back({&file, &catalog});
    }
  }
  return found;
}

bool any_has_word(const std::vector<SourceFile>& files, const std::string& word) {
  return std::ranges::any_of(files,
                             [&](const SourceFile& file) { return has_word(file.text, word); });
}

TEST(Variants, AreFound) { EXPECT_GE(variants().size(), 5U); }

TEST(Variants, AreInTheirCatalogUnderTheirFilesName) {
  for (const Variant& variant : variants()) {
    const std::string quoted = '"' + variant.file->stem() + '"';
    EXPECT_TRUE(variant.catalog->text.find(variant.file->stem()) != std::string::npos)
        << variant.catalog->path << " does not register " << variant.file->path;
    EXPECT_TRUE(variant.catalog->text.find(quoted) != std::string::npos ||
                variant.file->text.find(quoted) != std::string::npos)
        << variant.file->path << " is registered under another name than " << quoted;
  }
}

TEST(Variants, HaveATestThatNamesThem) {
  const std::vector<SourceFile> tests = files_below("tests/unit", {".cpp"});
  for (const Variant& variant : variants()) {
    EXPECT_TRUE(any_has_word(tests, variant.file->stem()))
        << "no test in tests/unit names " << variant.file->stem() << " (" << variant.file->path
        << ")";
  }
}

TEST(Variants, HaveAnExample) {
  // In TOML and JSON a use is the quoted name; on a command line it is the word.
  std::vector<SourceFile> documents = files_below("examples", {".toml", ".jsonl"});
  std::vector<SourceFile> commands = files_below("examples", {".sh", ".cmd"});
  for (const char* folder : {"tests/golden", "tests/properties", "tests/accuracy"}) {
    std::ranges::move(files_below(folder, {".toml", ".jsonl", ".cpp"}),
                      std::back_inserter(documents));
    std::ranges::move(files_below(folder, {".cmd"}), std::back_inserter(commands));
  }
  for (const Variant& variant : variants()) {
    const std::string quoted = '"' + variant.file->stem() + '"';
    const bool quoted_somewhere = std::ranges::any_of(documents, [&](const SourceFile& file) {
      return file.text.find(quoted) != std::string::npos;
    });
    EXPECT_TRUE(quoted_somewhere || any_has_word(commands, variant.file->stem()))
        << "no example and no whole-program test uses " << quoted << " (" << variant.file->path
        << ")";
  }
}

/// The text without what stands in anonymous namespaces, where nothing of another file can.
std::string shared_code(const SourceFile& file) {
  std::string text = code_only(file.text);
  const std::regex opening("^namespace \\{$", std::regex::multiline);
  for (std::smatch match; std::regex_search(text, match, opening);) {
    const auto start = static_cast<std::size_t>(match.position());
    const std::size_t end = text.find("\n}  \n", start);  // the comment after it is gone
    if (end == std::string::npos) break;
    text.erase(start, end + 2 - start);
  }
  return text;
}

/// Functions that a source declares without defining them, what CMake generates left out.
std::vector<std::string> borrowed_functions(const SourceFile& file) {
  const std::string code = shared_code(file);
  // Objects made from arguments look the same, and are constants.
  const std::regex declaration(
      "^(?!constexpr|const |static|return|using|template|throw)"
      "[A-Za-z][\\w:<>,&* ]*[ &*](\\w+)\\([^;{}]*\\);",
      std::regex::multiline);
  std::vector<std::string> borrowed;
  for (std::sregex_iterator match(code.begin(), code.end(), declaration), end; match != end;
       ++match) {
    const std::string name = match->str(1);
    const std::regex definition("\\b" + name + "\\([^;{}]*\\)[^;{}]*\\{");
    if (!name.starts_with("embedded_") && !std::regex_search(code, definition)) {
      borrowed.push_back(name);
    }
  }
  return borrowed;
}

// A declaration copied by hand is a dependency that no include line shows.
TEST(Variants, AreKnownToTheirCatalogAlone) {
  int in_catalogs = 0;
  for (const SourceFile& file : sources()) {
    if (file.extension() != ".cpp" || file.folder().starts_with("calibration/measure")) continue;
    const std::vector<std::string> borrowed = borrowed_functions(file);
    // The families of estimators have a catalog of the same kind.
    if (file.name() == "catalog.cpp" || file.path == "kernels/estimators/families.cpp") {
      in_catalogs += static_cast<int>(borrowed.size());
      continue;
    }
    for (const std::string& name : borrowed) {
      ADD_FAILURE() << file.path << " declares " << name
                    << "() of another source: include its header, or ask the catalog";
    }
  }
  EXPECT_GE(in_catalogs, 50) << "declarations were not found, so this proves nothing";
}

}  // namespace
}  // namespace foretoken::architecture
