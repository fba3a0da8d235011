// Points of closed-loop servers: what a row says, and which rows say too little.

#include "workloads/measurements/closed_loop_points.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

constexpr const char* header =
    "id,silicon_data_source,backend,backend_version,model_path,system,mode,gemm_quant_mode,"
    "moe_quant_mode,isl,osl,batch_size,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,"
    "prefill_num_workers,prefill_tp_size,decode_num_workers,decode_tp_size,silicon_ttft_ms,"
    "silicon_tpot_ms\n";

/// Rows "ID,SOURCE,VERSION,MODE,BATCH,TP,DP,MOE TP,EP,P WORKERS,P TP,D WORKERS,D TP,TTFT".
ClosedLoopPoints load(const std::vector<std::string>& rows) {
  const std::filesystem::path path = own_folder() / "points.csv";
  std::ofstream file(path);
  file << header;
  for (const std::string& row : rows) {
    std::vector<std::string> cell(1);
    for (const char letter : row) {
      if (letter == ',') {
        cell.emplace_back();
      } else {
        cell.back() += letter;
      }
    }
    file << fmt::format(
        "{},{},vllm,{},Qwen/"
        "Qwen3-32B,h100_sxm,{},fp8,,1024,128,{},{},1,{},{},{},{},{},{},{},{},12.5\n",
        cell[0], cell[1], cell[2], cell[3], cell[4], cell[5], cell[6], cell[7], cell[8], cell[9],
        cell[10], cell[11], cell[12], cell[13]);
  }
  file.close();
  return load_closed_loop_points({path});
}

constexpr const char* sixteen = "source_file=x.csv; silicon_concurrency=16";

std::string row(const std::string& id, const std::string& rest) {
  return id + "," + sixteen + "," + rest;
}

TEST(ClosedLoopPoints, AreReadAndTheRestIsListed) {
  const ClosedLoopPoints loaded = load({
      "a,source_file=x.csv; silicon_concurrency=16; measured=2026-01-14T00:00:00.000Z,"
      "0.12.0,agg,16,4,,,0,,,,,100.5",
      "b,source_file=x.csv,0.12.0,agg,16,4,,,,,,,,1",
      row("c", "0.12.0,agg,4,4,,,,,,,,2"),
      row("d", "0.12.0,agg,16,4,,,,,,,,0"),
  });
  ASSERT_EQ(loaded.points.size(), 1U);
  const ClosedLoopPoint& point = loaded.points.front();
  EXPECT_EQ(point.source, "x.csv");
  EXPECT_EQ(point.day, "2026-01-14");
  EXPECT_EQ(point.gemm_format, "fp8");
  EXPECT_EQ(point.users, 16);
  EXPECT_EQ(point.layout.tensor, 4);
  EXPECT_EQ(point.layout.experts, 1);
  EXPECT_EQ(point.ttft_ms, 100.5);
  EXPECT_EQ(point.position.line, 2);
  ASSERT_EQ(loaded.left_out.size(), 3U);
  EXPECT_EQ(loaded.left_out[0].reason, "the number of users is missing");
  EXPECT_EQ(loaded.left_out[1].reason, "the number of users of one server is missing");
  EXPECT_EQ(loaded.left_out[2].reason, "a latency is not above 0 ms");
  EXPECT_EQ(loaded.left_out[2].id, "d");
  EXPECT_EQ(loaded.left_out[2].position.line, 5);
}

TEST(ClosedLoopPoints, ARunStandsOnceUnderItsVersion) {
  const ClosedLoopPoints loaded = load({
      row("unversioned", ",agg,16,4,,,,,,,,7"),
      row("other", "0.18.0,agg,16,4,,,,,,,,8"),
      row("versioned", "0.18.0,agg,16,4,,,,,,,,7"),
  });
  ASSERT_EQ(loaded.points.size(), 2U);
  EXPECT_EQ(loaded.points.front().id, "versioned");
  ASSERT_EQ(loaded.left_out.size(), 1U);
  EXPECT_EQ(loaded.left_out.front().id, "unversioned");
  EXPECT_EQ(loaded.left_out.front().reason, "the same run appears twice");
}

TEST(ClosedLoopPoints, ACopyMayBeRounded) {
  const ClosedLoopPoints loaded = load({
      row("one", "0.18.0,agg,16,4,,,,,,,,7.442717309322941"),
      row("last bit", "0.18.0,agg,16,4,,,,,,,,7.4427173093229415"),
      row("rounded", "0.18.0,agg,16,4,,,,,,,,7.44"),
      row("other", "0.18.0,agg,16,4,,,,,,,,7.45"),
      "more users,source_file=x.csv; silicon_concurrency=17,0.18.0,agg,17,4,,,,,,,,7.44",
  });
  ASSERT_EQ(loaded.points.size(), 3U);
  EXPECT_EQ(loaded.points[1].id, "other");
  EXPECT_EQ(loaded.points[2].id, "more users");
  ASSERT_EQ(loaded.left_out.size(), 2U);
  EXPECT_EQ(loaded.left_out[0].id, "last bit");
  EXPECT_EQ(loaded.left_out[1].id, "rounded");
}

TEST(ClosedLoopPoints, AttentionRanksFollowFromThoseOfExperts) {
  const ClosedLoopPoints loaded = load({
      row("said", "1,agg,2,1,8,1,8,,,,,1"),      // batch of a rank
      row("left out", "1,agg,16,2,,4,1,,,,,2"),  // experts on 4 GPUs, attention on 2
      row("multiplied in", "1,agg,16,8,8,1,8,,,,,3"),
      row("x_tp8_ep8_1", "1,agg,16,8,1,,,,,,,4"),  // only the name says so
      row("twice", "1,agg,16,64,1,8,8,,,,,5"),
  });
  ASSERT_EQ(loaded.points.size(), 4U);
  const auto expect = [&](std::size_t i, int tensor, int ranks, int experts, int users) {
    SCOPED_TRACE(loaded.points[i].id);
    EXPECT_EQ(loaded.points[i].layout.tensor, tensor);
    EXPECT_EQ(loaded.points[i].layout.attention_ranks, ranks);
    EXPECT_EQ(loaded.points[i].layout.experts, experts);
    EXPECT_EQ(loaded.points[i].users, users);
  };
  expect(0, 1, 8, 8, 16);
  expect(1, 2, 2, 1, 32);  // a rank's are 16, as with ranks that are said
  expect(2, 1, 8, 8, 16);
  expect(3, 8, 1, 8, 16);
  EXPECT_EQ(loaded.left_out.front().reason, "its TP size is tensor times expert parallelism");
}

TEST(ClosedLoopPoints, DisaggregatedServersNeedNumbersOfWorkers) {
  const ClosedLoopPoints loaded = load({
      row("a", "1,disagg,,,,,,3,2,1,4,1"),
      row("b", "1,disagg,,,,,,,2,,4,2"),
  });
  ASSERT_EQ(loaded.points.size(), 1U);
  ASSERT_TRUE(loaded.points.front().prefill.has_value());
  EXPECT_EQ(loaded.points.front().prefill->gpus(), 6);
  EXPECT_EQ(loaded.points.front().layout.gpus(), 4);
  EXPECT_EQ(loaded.left_out.front().reason,
            "the numbers of prefill and decode workers are missing");
}

ClosedLoopPoints load_text(const std::string& text) {
  const std::filesystem::path path = own_folder() / "points.csv";
  std::ofstream(path) << text;
  return load_closed_loop_points({path});
}

TEST(ClosedLoopPoints, WhatNobodyMeasuredIsLeftOut) {
  const ClosedLoopPoints loaded = load_text(
      "model,parallel,gpu,isl,osl,max_concurrency,num_prompts,median_ttft,median_tpot\n"
      "m,tp2000000,h200_sxm,1024,128,4,40,0.5,0.01\n"
      "m,tp8,h200_sxm,1024,128,4,40,1e300,0.01\n");
  EXPECT_TRUE(loaded.points.empty());
  ASSERT_EQ(loaded.left_out.size(), 2U);
  EXPECT_EQ(loaded.left_out[0].reason, "its layout takes more than 1,000,000 GPUs");
  EXPECT_EQ(loaded.left_out[1].reason, "a latency is above 1e10 ms");
}

TEST(ClosedLoopPoints, InferenceXSaysLayoutsInAWord) {
  const ClosedLoopPoints loaded = load_text(
      "model,parallel,gpu,isl,osl,max_concurrency,num_prompts,median_ttft,median_tpot\n"
      "m,tp8,h200_sxm,1024,128,4,40,0.5,0.01\n"
      "m,tep8,h200_sxm,1024,128,4,40,0.6,0.01\n"
      "m,dep8,h200_sxm,1024,128,4,40,0.7,0.01\n"
      "m,xp8,h200_sxm,1024,128,4,40,0.8,0.01\n");
  ASSERT_EQ(loaded.points.size(), 3U);
  const ClosedLoopPoint& first = loaded.points.front();
  EXPECT_TRUE(first.is_median);
  EXPECT_EQ(first.engine, "vllm");
  EXPECT_EQ(first.requests, 40);
  EXPECT_DOUBLE_EQ(first.ttft_ms, 500);
  EXPECT_DOUBLE_EQ(first.tpot_ms, 10);
  EXPECT_EQ(first.layout.tensor, 8);
  EXPECT_EQ(first.layout.experts, 1);
  EXPECT_EQ(loaded.points[1].layout.experts, 8);
  EXPECT_EQ(loaded.points[2].layout.tensor, 1);
  EXPECT_EQ(loaded.points[2].layout.attention_ranks, 8);
  EXPECT_EQ(loaded.left_out.front().reason,
            "its layout \"xp8\" is none of tp, tep, dep and a number");
}

TEST(ClosedLoopPoints, InferenceXsExportSaysThemInColumns) {
  const ClosedLoopPoints loaded = load_text(
      "model,hw,framework,precision,tp,ep,dp_attention,isl,osl,conc,mean_ttft,mean_tpot\n"
      "m,b200,sglang,fp4,8,8,false,1024,128,4,0.5,0.01\n"
      "m,b200,trtllm,fp8,8,8,true,1024,128,4,0.6,0.01\n");
  ASSERT_EQ(loaded.points.size(), 2U);
  EXPECT_FALSE(loaded.points.front().is_median);
  EXPECT_EQ(loaded.points.front().engine, "sglang");
  EXPECT_EQ(loaded.points.front().gemm_format, "fp4");
  EXPECT_EQ(loaded.points.front().layout.tensor, 8);
  EXPECT_EQ(loaded.points.back().layout.attention_ranks, 8);
}

TEST(ClosedLoopPoints, AnotherTableIsAMistake) {
  EXPECT_THROW((void)load_text("model,isl\nm,1\n"), ConfigError);
}

}  // namespace
}  // namespace foretoken
