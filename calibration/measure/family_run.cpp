// The order of measuring: batches from cool to hot kernels, their sustained times last, and the
// first shapes once more at the end, whose spread is the noise floor.
#include "family_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "dataset_writer.hpp"
#include "provenance.hpp"
#include "shape_choice.hpp"

namespace foretoken::measure {
namespace {

std::vector<std::string> all_columns(const Family& family) {
  std::vector<std::string> columns = family.columns;
  for (const char* column :
       {"time_us", "p10_us", "p90_us", "warm_us", "sm_clock_mhz", "sustained_us",
        "sustained_clock_mhz", "launches", "repeats", "pass", "kernel_name", "grid", "block",
        "cluster", "dynamic_shared_bytes", "static_shared_bytes", "registers", "ctas_per_sm"})
    columns.push_back(column);
  columns.insert(columns.end(), family.described_columns.begin(), family.described_columns.end());
  return columns;
}

std::vector<std::string> row_of(const Family& family, const Case& one, const Timing& timing,
                                int pass, bool timed) {
  std::vector<std::string> row = one.fields;
  const auto add = [&](const std::string& text) { row.push_back(text); };
  const auto add_time = [&](double us) { row.push_back(timed ? number_text(us) : ""); };
  add_time(timing.time_us);
  add_time(timing.p10_us);
  add_time(timing.p90_us);
  add(timing.warm_us ? number_text(*timing.warm_us) : "");
  add(timing.sm_clock_mhz > 0 ? number_text(timing.sm_clock_mhz) : "");
  add(timing.sustained_us ? number_text(*timing.sustained_us) : "");
  add(timing.sustained_us ? number_text(timing.sustained_clock_mhz) : "");
  add(std::to_string(timing.launches));
  add(std::to_string(timing.repeats));
  add(std::to_string(pass));
  const LaunchIdentity& identity = timing.identity;
  add(joined(identity, &KernelLaunch::name));
  add(joined(identity, &KernelLaunch::grid));
  add(joined(identity, &KernelLaunch::block));
  add(joined(identity, &KernelLaunch::cluster));
  add(joined(identity, &KernelLaunch::dynamic_shared_bytes));
  add(joined(identity, &KernelLaunch::static_shared_bytes));
  add(joined(identity, &KernelLaunch::registers));
  add(joined(identity, &KernelLaunch::ctas_per_sm));
  if (family.describe)
    for (const std::string& text : family.describe(one, identity)) add(text);
  return row;
}

/// Measures the shapes of one family and writes their rows.
class FamilyRun {
 public:
  FamilyRun(const Gpu& gpu, Stopwatch& stopwatch, const Family& family, const Options& options)
      : stopwatch_(stopwatch),
        family_(family),
        options_(options),
        writer_(options.out + "/" + family.name + ".csv", provenance(gpu), all_columns(family)) {}

  void run() {
    std::vector<const Case*> cases;
    for (const Case& one : family_.cases)
      if (cases.size() < options_.limit) cases.push_back(&one);
    constexpr std::size_t batch_size = 1000;
    for (const auto& batch : cool_first(cases, batch_size)) measure(batch, 0);
    if (options_.once) return;
    cases.resize(std::min(cases.size(), static_cast<std::size_t>(options_.repeat)));
    for (const auto& batch : cool_first(cases, batch_size)) measure(batch, 1);
  }

  void print() const {
    std::printf("%-20s %6zu of %zu shapes, %zu failed, %.1f s%s%s\n", family_.name.c_str(), done_,
                family_.cases.size(), failed_, seconds(),
                first_failure_.empty() ? "" : "; first failure: ", first_failure_.c_str());
    std::fflush(stdout);
  }

 private:
  Provenance provenance(const Gpu& gpu) const {
    auto lines = provenance_of(gpu);
    lines.insert(lines.end(), family_.provenance.begin(), family_.provenance.end());
    lines.emplace_back("graph_head_us", number_text(stopwatch_.graph_head_us()));
    lines.emplace_back("settle_ms", number_text(options_.settle_ms));
    lines.emplace_back("seed", std::to_string(options_.family.seed));
    return lines;
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  template <typename Step>
  bool succeeds(const Step& step) {
    try {
      step();
      return true;
    } catch (const std::runtime_error& error) {
      if (failed_++ == 0) first_failure_ = error.what();
      static_cast<void>(cudaGetLastError());                   // that of the shape alone
      check(cudaDeviceSynchronize(), "after a failed shape");  // a broken context ends the program
      return false;
    }
  }

  /// All cold times of the batch first, then the sustained ones, which heat the card.
  void measure(const std::vector<const Case*>& batch, int pass) {
    if (!options_.once) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::vector<std::pair<const Case*, Timing>> timings;
    for (const Case* one : batch) {
      if (pass == 0 && seconds() > options_.seconds) break;
      Timing timing;
      const bool good = succeeds([&] {
        if (options_.once)
          timing.identity = stopwatch_.launch_once(one->footprint, one->launch);
        else
          timing = stopwatch_.measure(one->footprint, one->launch);
      });
      if (good) timings.emplace_back(one, std::move(timing));
    }
    for (auto& [one, timing] : timings) {
      if (!options_.once)
        succeeds([&, one = one, &timing = timing] {
          stopwatch_.sustain(one->footprint, one->launch, timing);
        });
      writer_.write(row_of(family_, *one, timing, pass, !options_.once));
    }
    if (pass == 0) done_ += timings.size();
  }

  Stopwatch& stopwatch_;
  const Family& family_;
  const Options& options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  DatasetWriter writer_;
  std::size_t done_ = 0, failed_ = 0;
  std::string first_failure_;
};

}  // namespace

void write_cases(const Gpu& gpu, const Family& family, const std::string& folder) {
  DatasetWriter writer(folder + "/" + family.name + ".csv", provenance_of(gpu), family.columns);
  for (const Case& one : family.cases) writer.write(one.fields);
  std::printf("%-20s %6zu shapes\n", family.name.c_str(), family.cases.size());
}

void measure_family(const Gpu& gpu, Arena& arena, Stopwatch& stopwatch, Family family,
                    const Options& options) {
  if (!options.only.empty()) {
    const std::string list = options.only + "/" + family.name + ".csv";
    if (!std::filesystem::exists(list)) {
      std::printf("%-20s not listed in %s\n", family.name.c_str(), options.only.c_str());
      return;
    }
    family.cases = listed(std::move(family.cases), family.columns, list);
  }
  family.cases = options.few > 0 ? few(std::move(family.cases), options.few)
                                 : shuffled(std::move(family.cases), options.family.seed);
  arena.fill(family.fill);
  FamilyRun run(gpu, stopwatch, family, options);
  run.run();
  run.print();
}

}  // namespace foretoken::measure
