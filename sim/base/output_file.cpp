#include "sim/base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view part_prefix = ".foretoken-";
constexpr std::string_view part_suffix = ".part";
constexpr int links_max = 40;  // as Linux follows

std::string text_of(int error) { return std::generic_category().message(error); }

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// What a link points to, be it there or not.
fs::path followed(fs::path path) {
  std::error_code error;
  for (int i = 0; i < links_max && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path;
    path = folder_of(path) / target;
  }
  return path;
}

/// Renaming over a device would replace it; what a standard stream goes to belongs to the shell.
bool is_direct(const fs::path& path) {
  const std::string& name = path.native();
  if (name.starts_with("/dev/std") || name.starts_with("/dev/fd/") || name.starts_with("/proc/"))
    return true;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// Takes away what killed runs left in `folder`: whoever is alive holds a lock on his part.
void remove_left_parts(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(part_prefix) || !name.ends_with(part_suffix)) continue;
    const int part = ::open(entry->path().c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (part < 0) continue;
    if (flock(part, LOCK_EX | LOCK_NB) == 0) unlink(entry->path().c_str());
    close(part);
  }
}

/// With a lock on it; -1 and errno if that fails.
int open_part(const fs::path& part) {
  const int descriptor =
      ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  struct stat status {};
  // Another's cleaning may have come between. File systems without locks go without cleaning.
  const bool is_locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (is_locked && fstat(descriptor, &status) == 0 && status.st_nlink > 0) return descriptor;
  close(descriptor);
  errno = EEXIST;
  return -1;
}

}  // namespace

OutputFile::OutputFile(const fs::path& path) : path_(path), owner_(getpid()) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw ConfigError({path.string()}, "is a folder; name a file");
  }
  if (is_direct(path)) {
    file_ = std::fopen(path.c_str(), "wb");
    if (file_ == nullptr) refuse("cannot write this file", errno);
  } else {
    place_ = followed(path);
    open_beside();
  }
}

void OutputFile::open_beside() {
  static std::atomic<int> number = 0;
  const fs::path folder = folder_of(place_);
  remove_left_parts(folder);
  int descriptor = -1;
  while (descriptor < 0) {
    part_ = folder / fmt::format("{}{}-{}{}", part_prefix, owner_, number++, part_suffix);
    descriptor = open_part(part_);
    if (descriptor < 0 && errno != EEXIST) {
      const int error = errno;
      part_.clear();
      refuse("cannot write in its folder", error);
    }
  }
  struct stat there {};
  if (stat(place_.c_str(), &there) == 0) (void)fchmod(descriptor, there.st_mode & 07777);
  file_ = fdopen(descriptor, "wb");
  FORETOKEN_CHECK(file_ != nullptr, "a descriptor that was opened is a file");
}

OutputFile::~OutputFile() {
  if (owner_ != getpid()) return;
  if (!part_.empty()) unlink(part_.c_str());
  if (file_ != nullptr) std::fclose(file_);
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() && error_ == 0) error_ = errno;
}

int OutputFile::descriptor() const { return fileno(file_); }

void OutputFile::finish() {
  if (std::fflush(file_) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0 && !part_.empty() && fsync(descriptor()) != 0) error_ = errno;
  if (error_ != 0) fail("could not be written completely", error_);
}

void OutputFile::publish() {
  if (!part_.empty() && std::rename(part_.c_str(), place_.c_str()) != 0)
    fail("cannot be moved into place", errno);
  part_.clear();
  std::fclose(std::exchange(file_, nullptr));
}

std::string OutputFile::problem(std::string_view what, int error) {
  return fmt::format("{}: {}; check the path and free space", what, text_of(error));
}

void OutputFile::refuse(std::string_view what, int error) const {
  throw ConfigError({path_.string()}, problem(what, error));
}

void OutputFile::fail(std::string_view what, int error) const {
  throw WriteError(fmt::format("{}: {}", path_.string(), problem(what, error)));
}

void write_file(const fs::path& path, std::string_view text) {
  Outputs outputs;
  outputs.write(path, text);
  outputs.publish();
}

void Outputs::expect_new(const fs::path& path) {
  const auto same = [&](const fs::path& other) {
    std::error_code ignored;
    if (other.empty()) return false;
    return fs::equivalent(path, other, ignored) ||
           fs::weakly_canonical(path, ignored) == fs::weakly_canonical(other, ignored);
  };
  if (is_direct(path)) return;
  if (const auto input = std::ranges::find_if(inputs_, same); input != inputs_.end()) {
    throw ConfigError(
        {path.string()},
        fmt::format(
            "is an input of this command{} and would be overwritten; name another file or folder",
            *input == path ? "" : fmt::format(" (as {})", input->string())));
  }
  if (std::ranges::any_of(expected_, same)) {
    throw ConfigError({path.string()}, "would be written twice; name two files");
  }
  expected_.push_back(path);
}

void Outputs::expect(const fs::path& path) {
  const fs::path folder = folder_of(followed(path));
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw ConfigError({path.string()}, "is a folder; name a file");
  const auto is_made = [&](const fs::path& made) {
    return fs::weakly_canonical(made, ignored) == fs::weakly_canonical(folder, ignored);
  };
  if (!fs::is_directory(folder, ignored) && std::ranges::none_of(folders_, is_made))
    throw ConfigError({path.string()}, "its folder does not exist; create it first");
  const fs::path written = is_direct(path) ? path : folder;
  if (fs::exists(written, ignored) && access(written.c_str(), W_OK) != 0)
    throw ConfigError({path.string()}, "cannot write there: " + text_of(errno));
  expect_new(path);
}

void Outputs::expect_in(const fs::path& folder, const std::vector<std::string>& names) {
  fs::path there = folder;
  std::error_code ignored;
  while (!fs::exists(fs::status(there, ignored)) && there.has_relative_path())
    there = folder_of(there.has_filename() ? there : there.parent_path());
  if (!fs::is_directory(there, ignored)) {
    throw ConfigError({folder.string()},
                      fmt::format("cannot create this folder: {} is a file; name "
                                  "another one",
                                  there.string()));
  }
  if (access(there.c_str(), W_OK | X_OK) != 0)
    throw ConfigError({folder.string()}, "cannot write there: " + text_of(errno));
  folders_.push_back(folder);
  for (const std::string& name : names) {
    if (fs::is_directory(folder / name, ignored)) {
      throw ConfigError({(folder / name).string()},
                        "is a folder, but a file is to be written there; move it");
    }
    expect_new(folder / name);
  }
}

void Outputs::make(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  fs::create_directories(folder, error);
  if (error) throw ConfigError({folder.string()}, "cannot create this folder: " + error.message());
}

OutputFile& Outputs::open(const fs::path& path) {
  make(folder_of(path));
  return *files_.emplace_back(std::make_unique<OutputFile>(path));
}

void Outputs::write(const fs::path& path, std::string_view text) { open(path).write(text); }

void Outputs::publish() {
  for (const auto& file : files_) file->finish();
  // One alone is replaced; of several the old ones go before the first new one comes.
  if (files_.size() > 1) {
    for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
      if (!(*file)->place().empty()) unlink((*file)->place().c_str());
    }
  }
  for (const auto& file : files_) file->publish();
  files_.clear();
}

void flush_standard_output() {
  if (std::fflush(stdout) != 0)
    throw std::runtime_error("cannot write to standard output: " + text_of(errno));
  if (std::ferror(stdout) != 0)
    throw std::runtime_error("standard output was not written completely");
}

}  // namespace foretoken
