// The project's own source files as texts, for the tests that hold the tree to its rules.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::architecture {

struct SourceFile {
  std::string path;  // relative to the project's folder, with forward slashes
  std::string text;

  [[nodiscard]] std::string name() const;       // "catalog.cpp"
  [[nodiscard]] std::string stem() const;       // "catalog"
  [[nodiscard]] std::string extension() const;  // ".cpp"
  [[nodiscard]] std::string folder() const;     // "sim/serving/schedulers"
};

struct Include {
  std::string target;
  int line = 0;
};

/// The file at `path`, relative to the project's folder; without a text where there is none.
SourceFile read_source(const std::string& path);

/// Every file below `folder` (relative to the project's folder) with one of `extensions`, sorted by
/// path. A folder that does not exist has none.
std::vector<SourceFile> files_below(std::string_view folder,
                                    const std::vector<std::string_view>& extensions);

/// The C++ files (.hpp, .cpp, .cu, .cuh) of every room, tests left out.
std::vector<SourceFile> room_files();

/// What a file includes, with "…" and with <…>.
std::vector<Include> includes(const SourceFile& file);

/// The text without comments and without the contents of string literals.
std::string code_only(std::string_view text);

/// Whether `word` stands in `text` with no letter, digit or underscore next to it.
bool has_word(std::string_view text, std::string_view word);

/// "path:line" of a byte of the file.
std::string place(const SourceFile& file, std::size_t offset);

}  // namespace foretoken::architecture
