// Points of closed-loop servers: what a row says, and which rows say too little.

#include "workloads/measurements/closed_loop_points.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

constexpr const char* header =
    "id,silicon_data_source,backend,backend_version,model_path,system,gemm_quant_mode,"
    "moe_quant_mode,isl,osl,batch_size,tp_size,pp_size,moe_ep_size,silicon_ttft_ms,"
    "silicon_tpot_ms\n";

std::filesystem::path file_of(const std::string& rows) {
  const std::filesystem::path path = own_folder() / "points.csv";
  std::ofstream(path) << header << rows;
  return path;
}

TEST(ClosedLoopPoints, AreReadAndCounted) {
  const ClosedLoopPoints loaded = load_closed_loop_points(
      file_of("a,source_file=x.csv; silicon_concurrency=16,vllm,0.12.0,Qwen/Qwen3-32B,h100_sxm,"
              "fp8,,1024,128,16,4,1,0,100.5,12.5\n"
              "b,source_file=x.csv,vllm,0.12.0,Qwen/Qwen3-32B,h100_sxm,,,1024,128,16,4,1,,1,1\n"
              "c,silicon_concurrency=64,vllm,0.12.0,Qwen/Qwen3-32B,h100_sxm,,,1,1,16,4,1,,1,1\n"));
  ASSERT_EQ(loaded.points.size(), 1U);
  EXPECT_EQ(loaded.without_users, 2) << "users unknown, or spread over several servers";
  const ClosedLoopPoint& point = loaded.points.front();
  EXPECT_EQ(point.source, "x.csv");
  EXPECT_EQ(point.gemm_format, "fp8");
  EXPECT_EQ(point.users, 16);
  EXPECT_EQ(point.tensor_parallel, 4);
  EXPECT_EQ(point.expert_parallel, 1);
  EXPECT_EQ(point.ttft_ms, 100.5);
  EXPECT_EQ(point.position.line, 2);
}

TEST(ClosedLoopPoints, ALatencyOfZeroIsAMistake) {
  EXPECT_THROW((void)load_closed_loop_points(
                   file_of("a,silicon_concurrency=1,vllm,1,m,h100_sxm,,,1,1,1,1,1,1,0,1\n")),
               ConfigError);
}

}  // namespace
}  // namespace foretoken
