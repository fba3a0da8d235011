// The share of their time by which kernels that run aside prolong a fork, against what
// calibration/measure/stream_forks.py measured on our H200.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kernels/kernel_streams.hpp"
#include "workloads/measurements/csv_rows.hpp"

namespace foretoken {
namespace {

struct Mean {
  double sum = 0;
  int count = 0;
};

/// By tokens: over inputs of DeepSeek-V4's layers and DeepSeek-V3's shared experts. The queries of
/// V4 fill the GPU by themselves, and the smallest products are there for what a fork itself takes.
std::map<std::int64_t, Mean> measured_shares() {
  CsvRows rows(FORETOKEN_SOURCE_DIR "/calibration/datasets/h200/stream_forks.csv");
  const int name = rows.column("case"), tokens = rows.column("tokens");
  const int first = rows.column("first_us"), serial = rows.column("serial_us");
  const int forked = rows.column("forked_us");
  std::map<std::int64_t, Mean> shares;
  while (rows.next()) {
    const std::string_view own = rows.text(name);
    if (own != "flash_inputs" && own != "pro_inputs" && own != "experts") continue;
    Mean& mean = shares[rows.integer(tokens)];
    mean.sum +=
        (rows.number(forked) - rows.number(first)) / (rows.number(serial) - rows.number(first));
    ++mean.count;
  }
  return shares;
}

double priced_share(std::int64_t tokens) {
  const auto call = [](int lane) {
    return KernelCall{.role = "product", .kernel = RmsNorm{1, 64}, .stream = {1, lane}};
  };
  const auto time = [](const Kernel&) { return Seconds(1e-3); };  // bytes take next to nothing
  return StreamShares({call(0), call(1)}, tokens, time, load_gpu("h200-sxm", {})).of({1, 1});
}

TEST(StreamForks, SharesAreThoseMeasured) {
  const auto shares = measured_shares();
  ASSERT_GE(shares.size(), 7U);
  for (const auto& [tokens, mean] : shares) {
    if (mean.count < 3) continue;  // experts were not measured with 1,024 tokens
    EXPECT_NEAR(priced_share(tokens), mean.sum / mean.count, 0.12) << tokens;
  }
}

}  // namespace
}  // namespace foretoken
