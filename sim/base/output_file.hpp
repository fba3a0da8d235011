// Files that are written for the user. Each appears whole or not at all: it is written beside its
// place and renamed when everything is on the disk, so that whoever is killed, or runs out of
// space, leaves what was there before. Outputs does the same for several files that belong
// together, and refuses to write over what is read. Stores that grow a row at a time are none of
// this.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

/// The disk refused what was to be written. No mistake of the user's: whatever was worked out is
/// there, and may still be shown.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One file on its way. A device or a pipe (/dev/stdout) is written directly.
class OutputFile {
 public:
  /// Opens a file beside `path` (beside what it points to, if it is a link). Throws ConfigError.
  explicit OutputFile(const std::filesystem::path& path);
  /// Unless it was published, nothing remains.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// What the disk refuses is told by finish().
  void write(std::string_view text);
  /// For writers with a library of their own, which leave it open.
  [[nodiscard]] int descriptor() const;
  /// Sees that all is on the disk. Throws WriteError.
  void finish();
  /// Puts it in its place, after finish(). Throws WriteError.
  void publish();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Where it will be; "" if it is written directly.
  [[nodiscard]] const std::filesystem::path& place() const { return place_; }

 private:
  void open_beside();
  static std::string problem(std::string_view what, int error);
  [[noreturn]] void refuse(std::string_view what, int error) const;
  [[noreturn]] void fail(std::string_view what, int error) const;

  std::filesystem::path path_;   // as the user calls it
  std::filesystem::path place_;  // links followed
  std::filesystem::path part_;   // beside it, until published
  std::FILE* file_ = nullptr;
  int error_ = 0;  // of the first write that failed
  int owner_ = 0;  // process: a forked child takes nothing away
};

/// Writes `text` as the whole file. Throws ConfigError and WriteError.
void write_file(const std::filesystem::path& path, std::string_view text);

/// The files that a command writes, published together: at no moment are there files of this run
/// beside those of an earlier one. The one opened last is the last to appear and the first to go,
/// so that where it stands the others do.
class Outputs {
 public:
  /// `inputs`: files that must not be written over.
  explicit Outputs(std::vector<std::filesystem::path> inputs = {}) : inputs_(std::move(inputs)) {}

  /// Throws ConfigError if `path` cannot be written to, or names an input or what was expected
  /// before: better told before hours of work than after.
  void expect(const std::filesystem::path& path);
  /// The same for files of a folder, which need not be there yet.
  void expect_in(const std::filesystem::path& folder, const std::vector<std::string>& names);

  /// Makes a folder, for a store that is to be in it. Throws ConfigError.
  void make(const std::filesystem::path& folder);
  /// Makes its folder too, if that was expected.
  OutputFile& open(const std::filesystem::path& path);
  void write(const std::filesystem::path& path, std::string_view text);
  /// Throws WriteError if the disk refuses; all that was there stays then.
  void publish();

 private:
  void expect_new(const std::filesystem::path& path);

  std::vector<std::filesystem::path> inputs_, expected_, folders_;
  std::vector<std::unique_ptr<OutputFile>> files_;
};

/// Throws std::runtime_error if standard output did not take all that was printed. For main(), at
/// its end.
void flush_standard_output();

}  // namespace foretoken
