// Damage to files that answers come from and nobody looks into: a store of runs and an adaptation,
// as we write them, with bytes changed (three input bytes each: where, and to what) or the rest cut
// off. What is read then is what was written, or a ConfigError: never another answer.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/networks/adaptation.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/planner/run_store.hpp"
#include "tests/fuzz/named_file.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace foretoken;

const std::vector<RunRequest>& requests() {
  static const std::vector<RunRequest> both = {{{Change::parse("workload.rate=4 /s")}},
                                               {{Change::parse("workload.rate=8 /s")}}};
  return both;
}

/// What came of each request when the store was written.
RunOutcome outcome_of(std::size_t run) {
  RunOutcome outcome;
  if (run == 1) return {RunStatus::infeasible, "the weights do not fit", {}};
  outcome.report.gpus = 8;
  outcome.report.throughput.output_tokens_per_s = 1234.5;
  return outcome;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string written_store() {
  const std::filesystem::path path = own_folder() / "written.sqlite";
  {
    RunStore store(path, "one");
    for (std::size_t run = 0; run < requests().size(); ++run)
      store.keep(requests()[run], outcome_of(run));
  }
  return text_of(path);
}

Adaptation written_adaptation() {
  FamilyAdaptation family{.family = "gemm",
                          .version = 3,
                          .networks = 0x1234abcd,
                          .offset = 0.25,
                          .states = {2, 4, {0.5F, 1, -2, 4, 0, 0.25F, 8, -1}, {0.125, -0.5}},
                          .inputs = {1, 1, {0.5F, -2}, {0.25, 0}},
                          .error = 0.04,
                          .error_before = 0.1};
  return {"imaginary-x1", {family}};
}

/// `bytes` as the input damages them.
std::string damaged(std::string bytes, const std::uint8_t* data, std::size_t size) {
  for (; size >= 3; data += 3, size -= 3) {
    const std::size_t at = (static_cast<std::size_t>(data[0]) << 8U) + data[1];
    bytes[at % bytes.size()] = static_cast<char>(data[2]);
  }
  if (size == 2) bytes.resize(((static_cast<std::size_t>(data[0]) << 8U) + data[1]) % bytes.size());
  return bytes;
}

void check_store(const std::string& bytes) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  for (const char* beside : {"damaged.sqlite-wal", "damaged.sqlite-shm"})
    std::filesystem::remove(own_folder() / beside);
  RunStore store(named_file("damaged.sqlite", data, bytes.size()), "one");
  for (std::size_t run = 0; run < requests().size(); ++run) {
    const std::optional<RunOutcome> found = store.find(requests()[run]);
    FORETOKEN_CHECK(
        !found || to_json(outcome_value(*found)) == to_json(outcome_value(outcome_of(run))),
        "a damaged store answers {}", to_json(outcome_value(*found)));
  }
}

}  // namespace

FORETOKEN_FUZZ(damaged)(const std::uint8_t* data, std::size_t size) {
  static const std::string store = written_store();
  static const std::string adaptation = write_adaptation(written_adaptation());
  try {
    check_store(damaged(store, data, size));
  } catch (const ConfigError&) {
  }
  try {
    const Adaptation read = read_adaptation(damaged(adaptation, data, size), "adaptation.json");
    FORETOKEN_CHECK(write_adaptation(read) == adaptation, "a damaged adaptation is read as {}",
                    write_adaptation(read));
  } catch (const ConfigError&) {
  }
  return 0;
}
