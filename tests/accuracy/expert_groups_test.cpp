// What routers that are limited to groups of experts do, against tables of FORETOKEN_DATA:
// DeepEP's normal kernels between nodes, whose test sends a token to at most four nodes, and layers
// of experts, where the tables of DeepSeek-V3's layout ran its router and others ran none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/expert_reach.hpp"
#include "sim/base/error.hpp"
#include "workloads/requests/text_lines.hpp"

namespace foretoken::expert_groups_test {
namespace {

using TableRow = std::map<std::string, std::string>;

std::vector<TableRow> rows_of(const std::string& file) {
  const auto cells = [](std::string_view line) {
    std::vector<std::string> found;
    std::istringstream stream{std::string(line)};
    for (std::string cell; std::getline(stream, cell, ',');) found.push_back(cell);
    return found;
  };
  TextLines lines(std::string(std::getenv("FORETOKEN_DATA")) + "/" + file);
  std::string_view line;
  FORETOKEN_CHECK(lines.next(line), "{} is empty", file);
  const std::vector<std::string> names = cells(line);
  std::vector<TableRow> rows;
  while (lines.next(line)) {
    const std::vector<std::string> values = cells(line);
    TableRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i)
      row[names[i]] = values[i];
  }
  return rows;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// From 512 tokens a rank on bytes between nodes decide how long combine takes, up to what buffers
// hold. Copies of a token on eight nodes over those on four: 1.29 if it goes to four at most, 1.71
// if to any.
TEST(ExpertGroups, TokensOfALimitedRouterCrossToFewNodes) {
  if (std::getenv("FORETOKEN_DATA") == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  std::map<std::pair<int, int>, std::map<int, double>> times;  // by tokens and SMs, then by nodes
  for (const TableRow& row :
       rows_of("comm/h100_sxm/sglang-0.5.6.post2-wideep_deepep_normal_perf.csv.gz")) {
    const int tokens = std::stoi(row.at("num_token"));
    if (tokens < 512 || tokens > 8192) continue;
    times[{tokens, std::stoi(row.at("combine_sms"))}][std::stoi(row.at("node_num"))] =
        std::stod(row.at("combine_transmit_us"));
  }
  std::vector<double> ratios;
  for (auto& [key, by_nodes] : times)
    if (key.second >= 16) ratios.push_back(by_nodes.at(8) / by_nodes.at(4));
  ASSERT_GE(ratios.size(), 10U);
  const auto crossing = [](ExpertGroups groups, int nodes) {
    return sets_visited(256, 8, groups, nodes) * (nodes - 1) / nodes;
  };
  const double any = crossing({}, 8) / crossing({}, 4);
  const double limited = crossing({8, 4}, 8) / crossing({}, 4);
  fmt::print(
      "combine on 8 nodes over 4: {:.3f} measured, {:.3f} with four of eight nodes, {:.3f} "
      "without limit\n",
      median(ratios), limited, any);
  EXPECT_NEAR(median(ratios) / limited, 1, 0.03);
  EXPECT_GT(any / median(ratios), 1.25);
}

/// Time a byte of weights of DeepSeek-V3's layout over that of GLM-5's, which differs in its hidden
/// width alone: median over 32 to 128 tokens.
double deepseek_over_glm(const std::string& file, const std::string& distribution) {
  std::map<std::string, std::map<std::string, double>> by_case;
  for (const TableRow& row : rows_of(file)) {
    const int tokens = std::stoi(row.at("num_tokens"));
    const bool is_asked = row.at("num_experts") == "256" && row.at("topk") == "8" &&
                          row.at("inter_size") == "2048" && row.at("moe_ep_size") == "1" &&
                          std::stoi(row.at("moe_tp_size")) <= 4 && tokens >= 32 && tokens <= 128;
    if (!is_asked || row.at("distribution") != distribution) continue;
    const std::string key = row.at("moe_dtype") + row.at("kernel_source") + row.at("moe_tp_size") +
                            "/" + row.at("num_tokens");
    const std::string& hidden = row.at("hidden_size");
    by_case[key][hidden] = std::stod(row.at("latency")) / std::stod(hidden);
  }
  std::vector<double> ratios;
  for (const auto& [key, by_hidden] : by_case) {
    if (by_hidden.contains("7168") && by_hidden.contains("6144"))
      ratios.push_back(by_hidden.at("7168") / by_hidden.at("6144"));
  }
  FORETOKEN_CHECK(ratios.size() >= 10, "{} pairs in {}", ratios.size(), file);
  return median(ratios);
}

// sim/LIMITS.md goes by these: balanced rows of DeepSeek-V3's layout read half of the experts that
// they name, as their router keeps the same four groups for all; those of the law nine tenths.
TEST(ExpertGroups, BalancedRowsOfDeepSeekReadHalf) {
  if (std::getenv("FORETOKEN_DATA") == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  for (const char* gpu : {"h100_sxm", "h200_sxm", "b200_sxm"}) {
    for (const char* framework : {"vllm", "sglang"}) {
      const std::string file = fmt::format("kernels/{}/moe_perf.{}.csv.gz", gpu, framework);
      const double balanced = deepseek_over_glm(file, "balanced");
      const double law = deepseek_over_glm(file, "power_law_1.01");
      fmt::print("{} {}: balanced {:.2f}, power law {:.2f}\n", gpu, framework, balanced, law);
      EXPECT_GT(balanced, 0.5) << file;
      EXPECT_LT(balanced, 0.6) << file;
      EXPECT_NEAR(law, 0.91, 0.02) << file;
    }
  }
}

}  // namespace
}  // namespace foretoken::expert_groups_test
