// The hit rates of whole traces, told by a run, against a reference that serves one request after
// the other with lists, maps and sets and nothing else: an endless cache at any speed, and two
// tiers of bounded ones where requests come so slowly that each is alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <map>
#include <set>

#include "tests/properties/run_text.hpp"

namespace foretoken {
namespace {

std::string scenario_text(const std::string& trace, const std::string& engine,
                          const std::string& workload) {
  return R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[engine]
batch_tokens_max = 200000
)" + engine +
         R"([workload]
trace_format = "mooncake"
trace = ")" +
         trace + "\"\n" + workload + R"(
[predictor]
name = "roofline"
)";
}

/// The requests that the model can serve; others fail before they look for anything.
std::vector<Request> served(const Scenario& scenario) {
  std::vector<Request> requests;
  const auto source = scenario.workload->start(RandomStreams(scenario.run.seed));
  while (auto request = source->next()) {
    if (request->prompt_tokens + request->output_tokens <= scenario.model.context_max) {
      requests.push_back(*std::move(request));
    }
  }
  return requests;
}

struct Hits {
  std::int64_t asked = 0, found = 0, found_on_host = 0;
};

Hits endless(const std::vector<Request>& requests) {
  std::set<std::uint64_t> seen;
  Hits hits;
  for (const Request& request : requests) {
    hits.asked += request.prompt_tokens;
    const std::int64_t chunk = request.prefix_block_tokens;
    bool still = true;
    for (std::int64_t i = 0; i < request.prompt_tokens / chunk; ++i) {
      const std::uint64_t hash = request.prefix_hashes[static_cast<std::size_t>(i)];
      still = still && (i + 1) * chunk < request.prompt_tokens && seen.contains(hash);
      if (still) hits.found += chunk;
      seen.insert(hash);
    }
  }
  return hits;
}

/// Hashes by last use, the oldest in front.
class LeastRecent {
 public:
  [[nodiscard]] bool contains(std::uint64_t hash) const { return at_.contains(hash); }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(order_.size()); }
  void remove(std::uint64_t hash) {
    order_.erase(at_.at(hash));
    at_.erase(hash);
  }
  void use(std::uint64_t hash) {
    if (contains(hash)) remove(hash);
    at_[hash] = order_.insert(order_.end(), hash);
  }
  std::uint64_t take_oldest() {
    const std::uint64_t hash = order_.front();
    remove(hash);
    return hash;
  }

 private:
  std::list<std::uint64_t> order_;
  std::map<std::uint64_t, std::list<std::uint64_t>::iterator> at_;
};

/// A GPU and a host that hold so many chunks each; the GPU's blocks are `per_chunk` a chunk.
class TwoTiers {
 public:
  TwoTiers(std::int64_t gpu_blocks, std::int64_t host_blocks, std::int64_t per_chunk)
      : gpu_blocks_(gpu_blocks), host_chunks_(host_blocks / per_chunk), per_chunk_(per_chunk) {}

  Hits serve(const Request& request, int block_tokens) {
    const std::int64_t chunk = request.prefix_block_tokens;
    const auto whole = static_cast<std::size_t>(request.prompt_tokens / chunk);
    const std::vector<std::uint64_t> hashes(request.prefix_hashes.begin(),
                                            request.prefix_hashes.end());
    Hits hits{.asked = request.prompt_tokens};
    std::vector<std::uint64_t> on_gpu, on_host;
    std::size_t matched = 0;
    for (; matched < whole; ++matched) {
      if (static_cast<std::int64_t>(matched + 1) * chunk >= request.prompt_tokens) break;
      if (gpu_.contains(hashes[matched])) {
        on_gpu.push_back(hashes[matched]);
      } else if (host_.contains(hashes[matched])) {
        on_host.push_back(hashes[matched]);
      } else {
        break;
      }
    }
    hits.found = static_cast<std::int64_t>(matched) * chunk;
    hits.found_on_host = static_cast<std::int64_t>(on_host.size()) * chunk;
    // What is used cannot go.
    for (const std::uint64_t hash : on_gpu) gpu_.remove(hash);
    for (const std::uint64_t hash : on_host) host_.remove(hash);
    host_pinned_ = static_cast<std::int64_t>(on_host.size());
    std::int64_t used = static_cast<std::int64_t>(on_gpu.size()) * per_chunk_;
    used += static_cast<std::int64_t>(on_host.size()) * per_chunk_;
    make_room(used);
    host_pinned_ = 0;
    for (const std::uint64_t hash : on_host) host_.use(hash);
    used = (request.prompt_tokens + block_tokens - 1) / block_tokens;
    make_room(used);
    // Chunks that lie on the GPU beyond a gap stay where they are; the request has its own.
    std::vector<std::uint64_t> own(hashes.begin(),
                                   hashes.begin() + static_cast<std::ptrdiff_t>(matched));
    for (std::size_t i = matched; i < whole; ++i) {
      if (!gpu_.contains(hashes[i])) own.push_back(hashes[i]);
    }
    for (auto hash = own.rbegin(); hash != own.rend(); ++hash) gpu_.use(*hash);
    return hits;
  }

 private:
  void make_room(std::int64_t used) {
    while (gpu_.size() * per_chunk_ + used > gpu_blocks_) {
      const std::uint64_t hash = gpu_.take_oldest();
      if (!host_.contains(hash) && host_.size() + host_pinned_ >= host_chunks_) {
        if (host_.size() == 0) continue;
        host_.take_oldest();
      }
      host_.use(hash);
    }
  }

  std::int64_t gpu_blocks_, host_chunks_, per_chunk_, host_pinned_ = 0;
  LeastRecent gpu_, host_;
};

void expect_rates(const Report& report, const Hits& hits) {
  ASSERT_TRUE(report.kv.prefix_hit_rate.has_value());
  const auto asked = static_cast<double>(hits.asked);
  EXPECT_DOUBLE_EQ(*report.kv.prefix_hit_rate, static_cast<double>(hits.found) / asked);
  if (hits.found_on_host > 0) {
    ASSERT_TRUE(report.kv.host_hit_rate.has_value());
    EXPECT_DOUBLE_EQ(*report.kv.host_hit_rate, static_cast<double>(hits.found_on_host) / asked);
  }
  fmt::print("found {:.2f} %, on the host {:.2f} %, {} iterations\n",
             1e2 * static_cast<double>(hits.found) / asked,
             1e2 * static_cast<double>(hits.found_on_host) / asked, report.iterations);
}

/// As fast as the trace says, with room for all: what was scheduled before is found.
void with_room_for_all(const std::string& trace) {
  const Scenario scenario =
      scenario_from(scenario_text(trace, "kv_blocks = 20000000\n", "arrivals = \"trace\"\n"));
  const Hits hits = endless(served(scenario));
  EXPECT_GT(hits.found, hits.asked / 20);
  expect_rates(run_scenario(scenario, Catalogs()), hits);
}

void with_two_tiers(const std::string& trace, int requests, std::int64_t gpu_blocks,
                    std::int64_t host_blocks) {
  // A block of 16 tokens of Llama 3.1 8B is 2 MiB.
  const std::string engine =
      fmt::format("kv_blocks = {}\nhost_kv = \"{} MiB\"\n", gpu_blocks, 2 * host_blocks);
  const std::string one_by_one = fmt::format(
      "arrivals = \"interval\"\nrate = \"0.001 /s\"\nrequests = {}\noutput_tokens = 1\n", requests);
  const Scenario scenario = scenario_from(scenario_text(trace, engine, one_by_one));
  const std::int64_t pool = gpu_blocks * scenario.engine.block_tokens;
  TwoTiers tiers(gpu_blocks, host_blocks, 512 / scenario.engine.block_tokens);
  Hits hits;
  for (const Request& request : served(scenario)) {
    if (request.prompt_tokens + request.output_tokens > pool) continue;
    const Hits own = tiers.serve(request, scenario.engine.block_tokens);
    hits.asked += own.asked;
    hits.found += own.found;
    hits.found_on_host += own.found_on_host;
  }
  EXPECT_GT(hits.found_on_host, hits.asked / 100);
  EXPECT_GT(hits.found, hits.found_on_host + hits.asked / 100);
  const Report report = run_scenario(scenario, Catalogs());
  expect_rates(report, hits);
  ASSERT_TRUE(report.kv.host.has_value());
  EXPECT_EQ(report.kv.host->blocks, host_blocks);
  EXPECT_LE(report.kv.host->peak, 1.0);
  EXPECT_GT(report.kv.host->bytes_from_host, 0.0);
}

const std::string committed = FORETOKEN_SOURCE_DIR "/examples/traces/sessions.jsonl";

TEST(PrefixTrace, OurSessionsWithRoomForAll) { with_room_for_all(committed); }
TEST(PrefixTrace, OurSessionsInTwoTiers) { with_two_tiers(committed, 301, 2'000, 6'000); }
TEST(PrefixTrace, OurSessionsInTwoSmallTiers) { with_two_tiers(committed, 301, 700, 900); }

class MooncakeTrace : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("FORETOKEN_DATA");
    if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
    trace = std::string(folder) + "/traces/mooncake_conversation.jsonl.gz";
  }
  std::string trace;
};

TEST_F(MooncakeTrace, WithRoomForAll) { with_room_for_all(trace); }
TEST_F(MooncakeTrace, InTwoTiers) { with_two_tiers(trace, 12'031, 30'000, 110'000); }

}  // namespace
}  // namespace foretoken
