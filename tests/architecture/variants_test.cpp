// A variant is one .cpp beside its family's catalog.cpp. Each has to be in the catalog under its
// file's name, to have a test that names it, and to be used somewhere a reader can copy from.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

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

}  // namespace
}  // namespace foretoken::architecture
