#include "sim/report/trace_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <iterator>

#include "sim/base/error.hpp"
#include "sim/report/json_text.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

/// Half a nanosecond decides; the same date always comes out the same.
std::int64_t nanoseconds(Seconds date) { return std::llround(date.value() * 1e9); }

/// Chrome counts microseconds.
void append_time(std::string& text, std::int64_t time) {
  fmt::format_to(std::back_inserter(text), "{}.{:03}", time / 1000, time % 1000);
}

}  // namespace

TraceArguments& TraceArguments::add(std::string_view name, std::int64_t number) {
  add_name(name);
  fmt::format_to(std::back_inserter(text_), "{}", number);
  return *this;
}

TraceArguments& TraceArguments::add(std::string_view name, double number) {
  add_name(name);
  fmt::format_to(std::back_inserter(text_), "{}", rounded(number));
  return *this;
}

TraceArguments& TraceArguments::add(std::string_view name, std::string_view text) {
  add_name(name);
  append_json_text(text_, text);
  return *this;
}

void TraceArguments::add_name(std::string_view name) {
  if (!text_.empty()) text_ += ',';
  append_json_text(text_, name);
  text_ += ':';
}

class TraceWriter::Compressor {
 public:
  explicit Compressor(int descriptor) : file_(gzdopen(dup(descriptor), "wb6")) {
    FORETOKEN_CHECK(file_ != nullptr, "an open file is compressed");
  }
  ~Compressor() { (void)close(); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  void write(const std::string& text) {
    is_fine_ &= gzwrite(file_, text.data(), static_cast<unsigned>(text.size())) > 0;
  }
  /// Whether all was written.
  bool close() {
    if (file_ != nullptr) is_fine_ &= gzclose(std::exchange(file_, nullptr)) == Z_OK;
    return is_fine_;
  }

 private:
  gzFile file_;
  bool is_fine_ = true;
};

TraceWriter::TraceWriter(OutputFile& file) : file_(file) {
  if (file.path().extension() == ".gz") {
    compressor_ = std::make_unique<Compressor>(file.descriptor());
  }
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::begin(std::string_view phase, std::string_view name) {
  line_ = is_first_ ? "[\n" : ",\n";
  is_first_ = false;
  fmt::format_to(std::back_inserter(line_), R"({{"ph":"{}","name":)", phase);
  append_json_text(line_, name);
}

void TraceWriter::end() {
  line_ += '}';
  put(line_);
}

void TraceWriter::name_process(std::uint32_t process, std::string_view name) {
  begin("M", "process_name");
  fmt::format_to(std::back_inserter(line_), R"(,"pid":{},"tid":0,"args":{{"name":)", process);
  append_json_text(line_, name);
  line_ += '}';
  end();
  begin("M", "process_sort_index");
  fmt::format_to(std::back_inserter(line_), R"(,"pid":{0},"tid":0,"args":{{"sort_index":{0}}})",
                 process);
  end();
}

void TraceWriter::name_thread(TraceTrack track, std::string_view name) {
  begin("M", "thread_name");
  fmt::format_to(std::back_inserter(line_), R"(,"pid":{},"tid":{},"args":{{"name":)", track.process,
                 track.thread);
  append_json_text(line_, name);
  line_ += '}';
  end();
  begin("M", "thread_sort_index");
  fmt::format_to(std::back_inserter(line_), R"(,"pid":{},"tid":{},"args":{{"sort_index":{}}})",
                 track.process, track.thread, track.thread);
  end();
}

void TraceWriter::slice(TraceTrack track, std::string_view name, std::string_view category,
                        Seconds start, Seconds end_date, const TraceArguments& arguments) {
  const std::int64_t from = nanoseconds(start), to = nanoseconds(end_date);
  begin("X", name);
  fmt::format_to(std::back_inserter(line_), R"(,"cat":"{}","pid":{},"tid":{},"ts":)", category,
                 track.process, track.thread);
  append_time(line_, from);
  line_ += R"(,"dur":)";
  append_time(line_, to - from);
  if (!arguments.text().empty()) line_ += R"(,"args":{)" + arguments.text() + '}';
  end();
}

void TraceWriter::counter(std::uint32_t process, std::string_view name, Seconds at,
                          const TraceArguments& arguments) {
  begin("C", name);
  fmt::format_to(std::back_inserter(line_), R"(,"pid":{},"ts":)", process);
  append_time(line_, nanoseconds(at));
  line_ += R"(,"args":{)" + arguments.text() + '}';
  end();
}

void TraceWriter::flow(FlowPart part, TraceTrack track, std::string_view name, std::uint64_t id,
                       Seconds at) {
  begin(part == FlowPart::start ? "s" : part == FlowPart::step ? "t" : "f", name);
  fmt::format_to(std::back_inserter(line_), R"(,"cat":"flow","id":{},"pid":{},"tid":{},"ts":)", id,
                 track.process, track.thread);
  append_time(line_, nanoseconds(at));
  if (part == FlowPart::end) line_ += R"(,"bp":"e")";
  end();
}

void TraceWriter::close() {
  put(is_first_ ? "[\n]\n" : "\n]\n");
  if (compressor_ != nullptr && !compressor_->close())
    throw ConfigError({file_.path().string()}, "could not be written completely; disk full?");
}

void TraceWriter::put(const std::string& text) {
  if (compressor_ != nullptr) {
    compressor_->write(text);
  } else {
    file_.write(text);
  }
}

std::size_t TraceLanes::take(Seconds start) {
  auto found = free_.upper_bound({start, SIZE_MAX});
  if (found == free_.begin()) return size_++;
  --found;
  const std::size_t lane = found->second;
  free_.erase(found);
  return lane;
}

void TraceLanes::release(std::size_t lane, Seconds end) { free_.emplace(end, lane); }

}  // namespace foretoken
