#include "tests/architecture/source_tree.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>

namespace foretoken::architecture {
namespace {

constexpr std::string_view rooms[] = {"sim",      "models",  "workloads",
                                      "hardware", "kernels", "calibration"};

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The end of the string or character literal that opens at `start`.
std::size_t literal_end(std::string_view text, std::size_t start) {
  const char quote = text[start];
  if (quote == '"' && start > 0 && text[start - 1] == 'R') {
    const std::size_t open = text.find('(', start);
    std::string close(1, ')');
    close.append(text.substr(start + 1, open - start - 1)).append(1, '"');
    return std::min(text.size(), text.find(close, open) + close.size());
  }
  std::size_t end = start + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(text.size(), end + 1);
}

/// A quote between digits separates thousands (1'000) and opens nothing.
bool opens_literal(std::string_view text, std::size_t i) {
  return text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_word_character(text[i - 1])));
}

}  // namespace

std::string SourceFile::name() const { return std::filesystem::path(path).filename().string(); }
std::string SourceFile::stem() const { return std::filesystem::path(path).stem().string(); }
std::string SourceFile::extension() const {
  return std::filesystem::path(path).extension().string();
}
std::string SourceFile::folder() const {
  return std::filesystem::path(path).parent_path().generic_string();
}

SourceFile read_source(const std::string& path) {
  std::ifstream stream(std::filesystem::path(FORETOKEN_SOURCE_DIR) / path, std::ios::binary);
  return {path, std::string(std::istreambuf_iterator<char>(stream), {})};
}

std::vector<SourceFile> files_below(std::string_view folder,
                                    const std::vector<std::string_view>& extensions) {
  const std::filesystem::path root(FORETOKEN_SOURCE_DIR);
  std::vector<SourceFile> files;
  if (!std::filesystem::exists(root / folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    if (!entry.is_regular_file()) continue;
    if (std::ranges::find(extensions, entry.path().extension().string()) == extensions.end()) {
      continue;
    }
    files.push_back(read_source(entry.path().lexically_relative(root).generic_string()));
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::vector<SourceFile> room_files() {
  std::vector<SourceFile> files;
  for (const std::string_view room : rooms) {
    std::ranges::move(files_below(room, {".hpp", ".cpp", ".cu", ".cuh"}),
                      std::back_inserter(files));
  }
  return files;
}

std::vector<Include> includes(const SourceFile& file) {
  std::vector<Include> found;
  std::istringstream lines(file.text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const std::size_t word = line.find("include", hash);
    if (word == std::string::npos) continue;
    const std::size_t open = line.find_first_of("\"<", word);
    if (open == std::string::npos) continue;
    const std::size_t close = line.find_first_of("\">", open + 1);
    found.push_back({line.substr(open + 1, close - open - 1), number});
  }
  return found;
}

std::string code_only(std::string_view text) {
  std::string code;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = std::min(text.find("*/", i), text.size() - 2) + 2;
      code.append(static_cast<std::size_t>(
                      std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                 text.begin() + static_cast<std::ptrdiff_t>(end), '\n')),
                  '\n');
      i = end;
    } else if (opens_literal(text, i)) {
      const std::size_t end = literal_end(text, i);
      code += "\"\"";
      code.append(static_cast<std::size_t>(
                      std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                 text.begin() + static_cast<std::ptrdiff_t>(end), '\n')),
                  '\n');
      i = end;
    } else {
      code += text[i++];
    }
  }
  return code;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_character(text[at - 1])) &&
        (end == text.size() || !is_word_character(text[end]))) {
      return true;
    }
  }
  return false;
}

std::string place(const SourceFile& file, std::size_t offset) {
  const auto end =
      file.text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, file.text.size()));
  return file.path + ":" + std::to_string(1 + std::count(file.text.begin(), end, '\n'));
}

}  // namespace foretoken::architecture
