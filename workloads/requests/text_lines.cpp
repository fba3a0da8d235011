#include "workloads/requests/text_lines.hpp"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/base/file_text.hpp"

namespace foretoken {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 18;
// A request's line, with prefix hashes of a million tokens, takes some 20 KB.
constexpr std::size_t line_bytes_max = std::size_t{1} << 22;

}  // namespace

TextLines::TextLines(const std::filesystem::path& path) : path_(path.string()) {
  std::error_code unreachable;  // gzopen says why
  if (std::filesystem::is_directory(path, unreachable)) {
    throw ConfigError({path_}, "is a folder, not a file; check the path");
  }
  errno = 0;
  file_ = gzopen(path_.c_str(), "rb");
  if (file_ == nullptr) {
    throw ConfigError({path_}, fmt::format("cannot open this file ({}); check the path",
                                           errno == 0 ? "out of memory" : std::strerror(errno)));
  }
}

TextLines::~TextLines() { gzclose(static_cast<gzFile>(file_)); }

void TextLines::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t kept = buffer_.size();
  if (kept > line_bytes_max) {
    throw ConfigError({path_, number_ + 1},
                      fmt::format("is longer than {} bytes; is this a text file?", line_bytes_max));
  }
  buffer_.resize(kept + piece_bytes);
  auto* file = static_cast<gzFile>(file_);
  const int read = gzread(file, buffer_.data() + kept, piece_bytes);
  buffer_.resize(kept + static_cast<std::size_t>(std::max(read, 0)));
  int status = Z_OK;
  gzerror(file, &status);
  if (read < 0 || (status != Z_OK && status != Z_STREAM_END)) {
    throw ConfigError({path_}, status == Z_BUF_ERROR
                                   ? "the gzip data ends early: the file was cut off; copy it again"
                                   : "the gzip data is damaged; copy the file again");
  }
  at_end_ = read == 0;
}

/// UTF-8's, at the beginning of the file.
void TextLines::pass_mark() {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (is_begun_) return;
  is_begun_ = true;
  fill();
  if (std::string_view(buffer_).starts_with(mark)) begin_ = mark.size();
}

bool TextLines::next(std::string_view& line) {
  pass_mark();
  std::size_t end = buffer_.find('\n', begin_);
  while (end == std::string::npos && !at_end_) {
    const std::size_t searched = buffer_.size() - begin_;
    fill();
    end = buffer_.find('\n', searched);
  }
  unended_ = end == std::string::npos;
  if (unended_ && begin_ == buffer_.size()) return false;
  if (unended_) end = buffer_.size();
  line = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = unended_ ? end : end + 1;
  if (number_ == std::numeric_limits<int>::max())
    throw ConfigError({path_}, "has more than 2147483647 lines; is this a trace?");
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++number_;
  return true;
}

std::string_view TextLines::peek(std::size_t bytes) {
  pass_mark();
  while (!at_end_ && buffer_.size() - begin_ < bytes) fill();
  return std::string_view(buffer_).substr(begin_, bytes);
}

std::string TextLines::take_rest(std::size_t bytes_max) {
  pass_mark();
  std::string text = buffer_.substr(begin_);
  buffer_.clear();
  begin_ = 0;
  while (!at_end_) {
    fill();
    text += buffer_;
    buffer_.clear();
    if (text.size() > bytes_max) throw ConfigError({path_}, too_long_message(bytes_max));
  }
  return text;
}

}  // namespace foretoken
