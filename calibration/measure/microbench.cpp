// Runs the micro-benchmarks over their grids and writes them as JSON.
#include "microbench.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "dataset_writer.hpp"
#include "memory_bench.hpp"
#include "pipes.hpp"

namespace foretoken::measure {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return "\"" + result + "\"";
}

std::string object(std::initializer_list<std::pair<const char*, double>> fields) {
  std::string text;
  for (const auto& [key, value] : fields)
    text += (text.empty() ? "{\"" : ", \"") + std::string(key) + "\": " + number_text(value);
  return text + "}";
}

std::string object(const Bandwidth& b) {
  return object({{"bytes", static_cast<double>(b.bytes)},
                 {"sms", b.sms},
                 {"us", b.us},
                 {"gb_per_second", b.gb_per_second}});
}

class JsonFile {
 public:
  explicit JsonFile(const std::string& path) : path_(path), file_(path) {
    if (!file_) throw std::runtime_error(path + ": cannot be created");
  }
  /// Throws std::runtime_error if the disk did not take everything.
  void finish() {
    file_ << "\n}\n" << std::flush;
    if (!file_)
      throw std::runtime_error(path_ + ": cannot be written completely; is the disk full?");
  }
  void text(const std::string& key, const std::string& value) {
    start(key);
    file_ << escaped(value);
  }
  void list(const std::string& key, const std::vector<std::string>& items) {
    start(key);
    file_ << "[";
    for (std::size_t i = 0; i < items.size(); ++i)
      file_ << (i == 0 ? "\n    " : ",\n    ") << items[i];
    file_ << "\n  ]" << std::flush;
  }

 private:
  void start(const std::string& key) {
    file_ << (first_ ? "{\n  " : ",\n  ") << escaped(key) << ": ";
    first_ = false;
  }
  std::string path_;
  std::ofstream file_;
  bool first_ = true;
};

std::vector<int> sm_counts(int all) {
  std::vector<int> counts;
  for (const int sms : {1,  2,  4,  6,  8,   12,  16,  24,  32,  40,  48,  56, 64,
                        72, 80, 88, 96, 104, 112, 120, 128, 144, 160, 176, 192})
    if (sms < all) counts.push_back(sms);
  counts.push_back(all);
  return counts;
}

constexpr std::size_t mib = std::size_t{1} << 20;

void write_memory(JsonFile& json, const Gpu& gpu, Arena& arena) {
  std::vector<std::string> by_size, copies, by_sms, l2_by_range, l2_by_sms, latencies;
  for (std::size_t bytes = mib / 4; bytes <= 2048 * mib; bytes *= 2) {
    by_size.push_back(object(dram_read(gpu, arena, bytes, gpu.sm_count)));
    copies.push_back(object(dram_copy(gpu, arena, bytes)));
  }
  for (const int sms : sm_counts(gpu.sm_count)) {
    by_sms.push_back(object(dram_read(gpu, arena, 8 * mib * static_cast<std::size_t>(sms), sms)));
    l2_by_sms.push_back(object(l2_read(gpu, arena, gpu.l2_bytes / 4 / mib * mib, sms)));
  }
  for (const std::size_t range :
       {mib, 2 * mib, 4 * mib, 8 * mib, 12 * mib, 16 * mib, 20 * mib, 24 * mib, 28 * mib, 32 * mib,
        40 * mib, 48 * mib, 56 * mib, 64 * mib, 96 * mib, 128 * mib})
    l2_by_range.push_back(object(l2_read(gpu, arena, range, gpu.sm_count)));
  for (const std::size_t range : {mib / 4, mib, 4 * mib, 8 * mib, 16 * mib, 24 * mib, 32 * mib,
                                  48 * mib, 64 * mib, 128 * mib, 512 * mib}) {
    const Latency latency = load_latency(gpu, arena, range);
    latencies.push_back(object({{"bytes", static_cast<double>(latency.bytes)},
                                {"cycles", latency.cycles},
                                {"ns", latency.ns}}));
  }
  json.list("dram_read_by_size", by_size);
  json.list("dram_copy_by_size", copies);
  json.list("dram_read_by_active_sms", by_sms);
  json.list("l2_read_by_range", l2_by_range);
  json.list("l2_read_by_active_sms", l2_by_sms);
  json.list("load_latency_by_range", latencies);
}

}  // namespace

void write_microbench(const Gpu& gpu, Arena& arena,
                      const std::vector<std::pair<std::string, std::string>>& provenance,
                      const std::string& path) {
  JsonFile json(path);
  for (const auto& [key, value] : provenance)
    if (key != "method") json.text(key, value);
  json.text(
      "method",
      "medians of 7; dram_*: fresh memory every launch, 1024 threads on each active SM, "
      "event time of one plain launch (so about 2 us of it are the launch); l2_read: the "
      "same range many times in one launch; load latency: one thread, random chain over a range "
      "just read, L1 "
      "bypassed; launch_floor: empty kernels in a graph; pipes: loops of one instruction");
  std::vector<std::string> floors;
  for (const auto& [grid, block] :
       std::initializer_list<std::pair<int, int>>{{1, 32},
                                                  {1, 1024},
                                                  {gpu.sm_count, 32},
                                                  {gpu.sm_count, 384},
                                                  {gpu.sm_count, 1024},
                                                  {4 * gpu.sm_count, 256},
                                                  {16 * gpu.sm_count, 128},
                                                  {64 * gpu.sm_count, 128}}) {
    const LaunchFloor floor = launch_floor(gpu, grid, block);
    floors.push_back(object({{"grid", floor.grid},
                             {"block", floor.block},
                             {"first_us", floor.first_us},
                             {"next_us", floor.next_us}}));
  }
  json.list("launch_floor", floors);
  write_memory(json, gpu, arena);
  std::vector<std::string> rates;
  for (const PipeRate& rate : measure_pipes(gpu)) {
    std::string item = object({{"ops_per_clock_per_sm", rate.ops_per_clock_per_sm},
                               {"tera_ops_per_second", rate.tera_ops_per_second},
                               {"sm_clock_mhz", rate.sm_clock_mhz}});
    rates.push_back("{\"pipe\": " + escaped(rate.pipe) + ", " + item.substr(1));
  }
  json.list("pipes", rates);
  json.finish();
}

}  // namespace foretoken::measure
