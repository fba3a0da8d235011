// The lines of a text file, plain or gzip (told by the content, not the name), read in pieces so
// that only one line is in memory. Ends of lines may be LF or CR LF; the last needs none.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace foretoken {

class TextLines {
 public:
  /// Throws ConfigError if the file cannot be opened.
  explicit TextLines(const std::filesystem::path& path);
  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  /// The next line without its end, valid until the next call; false at the end of the file.
  /// Throws ConfigError for gzip data that is cut off or damaged, and for a line beyond 4 MiB.
  bool next(std::string_view& line);

  /// What comes next, at most `bytes` of it, and stays there; valid until the next call.
  std::string_view peek(std::size_t bytes);
  /// All that is left. Throws ConfigError beyond `bytes_max`.
  std::string take_rest(std::size_t bytes_max);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The number of the line that next() gave, from 1.
  [[nodiscard]] int number() const { return number_; }
  /// Whether that line was the last and had no end: it may have been cut off.
  [[nodiscard]] bool is_unended() const { return unended_; }

 private:
  void fill();
  void pass_mark();

  std::string path_;
  void* file_ = nullptr;  // zlib's gzFile
  std::string buffer_;
  std::size_t begin_ = 0;  // of the next line in buffer_
  int number_ = 0;
  bool is_begun_ = false;  // anything was read
  bool at_end_ = false;    // the file has nothing beyond buffer_
  bool unended_ = false;
};

}  // namespace foretoken
