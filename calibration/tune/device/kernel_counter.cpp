#include "calibration/tune/device/kernel_counter.hpp"

#include <algorithm>

#include "calibration/tune/child_process.hpp"
#include "calibration/tune/counters.hpp"
#include "calibration/tune/device/device_requests.hpp"
#include "calibration/tune/device/gpu_turn.hpp"
#include "sim/base/json.hpp"
#include "sim/base/private_folder.hpp"

namespace foretoken::tune {
namespace {

constexpr std::chrono::milliseconds start_limit{60'000}, candidate_limit{20'000};

/// The launches of each answer after that to "prepare". Throws ConfigError for a refusal.
std::vector<int> counted_launches(std::string_view answers, std::size_t candidates) {
  std::vector<int> launches;
  bool is_prepared = false;
  while (!answers.empty()) {
    const std::size_t end = answers.find('\n');
    const std::string_view line = answers.substr(0, end);
    answers.remove_prefix(end == std::string_view::npos ? answers.size() : end + 1);
    if (!line.starts_with('{')) continue;  // Nsight Compute's own words
    const Value answer = parse_json(std::string(line), {"device", 1, 0});
    const Value* status = answer.find("status");
    const Value* count = answer.find("launches");
    if (status == nullptr || !status->is_string() || std::get<std::string>(status->data) != "ok") {
      throw ConfigError({}, fmt::format("a kernel cannot be counted: {}", line));
    }
    if (is_prepared && count != nullptr) {
      const auto* number = std::get_if<std::int64_t>(&count->data);
      launches.push_back(number == nullptr ? 0 : static_cast<int>(*number));
    }
    is_prepared = true;
  }
  if (launches.size() == candidates) return launches;
  throw ConfigError({}, fmt::format("{} of {} kernels were counted before the device process ended",
                                    launches.size(), candidates));
}

}  // namespace

KernelCounter::KernelCounter(std::vector<std::string> device_command, std::string profiler)
    : device_command_(std::move(device_command)), profiler_(std::move(profiler)) {}

std::vector<Profile> KernelCounter::count(const Problem& problem, std::size_t shape,
                                          const std::string& reference_cubin,
                                          const std::vector<Compiled>& candidates, int sms) const {
  Problem counted = problem;
  counted.shapes = {problem.shapes.at(shape)};
  std::string requests = to_json(prepare_request(counted, reference_cubin, sms), -1) + '\n';
  for (const Compiled& compiled : candidates) {
    requests +=
        to_json(launch_request("count", counted, compiled.candidate, compiled.cubin, sms), -1) +
        '\n';
  }
  const PrivateFolder folder("foretoken-tune");
  const std::filesystem::path table = folder.path() / "ncu.csv";
  std::vector<std::string> command = counting_command(table);
  command.front() = profiler_;
  command.insert(command.end(), device_command_.begin(), device_command_.end());
  const GpuTurn turn(GpuTurn::path());
  ChildProcess child(command);
  const ChildProcess::Answer answer =
      child.finish(requests, start_limit + candidate_limit * static_cast<long>(candidates.size()));
  if (answer.outcome == ChildProcess::Outcome::timeout) {
    throw ConfigError({}, "Nsight Compute did not end in time");
  }
  if (!std::filesystem::exists(table)) {
    throw ConfigError(
        {}, fmt::format("no counters: is Nsight Compute ({}) in PATH, and may it read them? {}",
                        profiler_, answer.text.substr(0, 300)));
  }
  return read_counters(table, counted_launches(answer.text, candidates.size()));
}

}  // namespace foretoken::tune
