// Any bytes as what was recorded elsewhere: requests of a served run, a load tool's result, a
// server's log, its meta.json, tables of measured servers, measured launches. Reading ends in
// records that are possible, or in a ConfigError. The first byte chooses the kind of file.
#include <cmath>
#include <cstdint>
#include <filesystem>

#include "hardware/gpu.hpp"
#include "sim/deployments/server_log.hpp"
#include "tests/fuzz/named_file.hpp"
#include "tests/fuzz/target.hpp"
#include "workloads/measurements/closed_loop_points.hpp"
#include "workloads/measurements/measured_rows.hpp"
#include "workloads/measurements/served_run.hpp"

namespace {

using namespace foretoken;

void check_run(const std::filesystem::path& path) {
  const ServedRun run = load_served_run(path);
  FORETOKEN_CHECK(!run.requests.empty(), "a run without requests");
  for (const ServedRequest& request : run.requests) {
    FORETOKEN_CHECK(request.prompt_tokens >= 1 && request.output_tokens >= 1, "no tokens");
    FORETOKEN_CHECK(std::isfinite(request.end_to_end().value()), "no date");
    FORETOKEN_CHECK(request.ttft() >= Seconds(0.0) && request.tpot() >= Seconds(0.0),
                    "a token before the request or its predecessor");
  }
}

void check_log(const std::filesystem::path& path) {
  if (auto known = read_server_log(path)) {
    static_cast<void>(recorded_server(*std::move(known), {"qwen3-8b", "h100-sxm-8", ""}));
  }
}

void check_meta(const std::filesystem::path& path) {
  static_cast<void>(load_recorded_server(path, {"qwen3-8b", "h100-sxm-8", ""}));
}

void check_points(const std::filesystem::path& path) {
  for (const ClosedLoopPoint& point : load_closed_loop_points({path}).points) {
    FORETOKEN_CHECK(point.prompt_tokens >= 1 && point.output_tokens >= 1 && point.users >= 1,
                    "a point of {} tokens in, {} out, {} users", point.prompt_tokens,
                    point.output_tokens, point.users);
    FORETOKEN_CHECK(std::isfinite(point.ttft_ms) && std::isfinite(point.tpot_ms), "no latency");
    FORETOKEN_CHECK(point.layout.gpus() >= 1, "{} GPUs", point.layout.gpus());
  }
}

void check_launches(const std::filesystem::path& path) {
  MeasuredRows rows(path, "h200-sxm");
  MeasuredLaunch launch;
  while (rows.next(launch)) {
    FORETOKEN_CHECK(std::isfinite(launch.time.value()) && launch.time > Seconds(0.0),
                    "a launch of {} s", launch.time.value());
  }
}

struct Reader {
  const char* name;
  void (*check)(const std::filesystem::path& path);
};

constexpr Reader readers[] = {{"requests.jsonl", check_run},    {"requests.csv", check_run},
                              {"result.json", check_run},       {"server.log", check_log},
                              {"meta.json", check_meta},        {"points.csv", check_points},
                              {"launches.csv", check_launches}, {"launches.jsonl", check_launches}};

}  // namespace

FORETOKEN_FUZZ(recorded)(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Reader& reader = readers[data[0] % std::size(readers)];
  try {
    reader.check(named_file(reader.name, data + 1, size - 1));
  } catch (const ConfigError&) {
    return 0;
  }
  return 0;
}
