// Rows of measurements: both formats, whatever a cell may hold, and what a bad row says.
#include "workloads/measurements/measured_rows.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

class MeasuredRowsTest : public testing::Test {
 protected:
  MeasuredRowsTest() {
    folder_ = own_folder() / "files";
    std::filesystem::create_directories(folder_);
  }
  ~MeasuredRowsTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  static std::vector<MeasuredLaunch> read(const std::string& path, const std::string& gpu = "") {
    MeasuredRows rows(path, gpu);
    std::vector<MeasuredLaunch> launches;
    for (MeasuredLaunch launch; rows.next(launch);) launches.push_back(launch);
    return launches;
  }

  /// The message of the first bad row, the folder's name taken out.
  std::string mistake(const std::string& name, const std::string& text) const {
    try {
      read(write(name, text));
    } catch (const ConfigError& error) {
      std::string message = error.what();
      const std::string prefix = folder_.string() + "/";
      if (message.starts_with(prefix)) message.erase(0, prefix.size());
      return message;
    }
    return "accepted";
  }

  std::filesystem::path folder_;
};

constexpr const char* gemm_csv =
    "# format: foretoken dataset 1\n# gpu: NVIDIA H200\n"
    "kernel,framework,kernel_source,m,n,k,dtype,fast_accumulation,time_us,warm_us,pass\n"
    "gemm,pytorch,cublas,64,4096,512,fp8,1,12.5,11,0\n"
    "gemm,pytorch,cublas,128,4096,512,fp8,1,20,,1\n"
    "gemm,pytorch,cublas,128,4096,512,fp8,0,20,,0\n";

TEST_F(MeasuredRowsTest, ReadsADataset) {
  const auto launches = read(write("gemm.csv", gemm_csv));
  ASSERT_EQ(launches.size(), 3);
  const auto& gemm = std::get<Gemm>(launches[0].kernel);
  EXPECT_EQ(gemm.m, 64);
  EXPECT_EQ(gemm.dtype, DType::fp8);
  EXPECT_EQ(gemm.implementation.framework, Framework::pytorch);
  EXPECT_TRUE(gemm.implementation.is_cold);  // as our measurements are
  EXPECT_EQ(launches[0].gpu, "h200-sxm");
  EXPECT_DOUBLE_EQ(launches[0].time.value(), 12.5e-6);
  EXPECT_DOUBLE_EQ(launches[0].warm_time->value(), 11e-6);
  EXPECT_EQ(launches[0].source_name, "cublas");
  EXPECT_EQ(launches[0].position.line, 4);
  EXPECT_FALSE(launches[0].is_aside);
  EXPECT_FALSE(launches[1].warm_time.has_value());
  EXPECT_TRUE(launches[1].is_aside);  // measured again, for the noise
  EXPECT_TRUE(launches[2].is_aside);  // slow accumulation
}

TEST_F(MeasuredRowsTest, ReadsListsAndFlags) {
  const auto launches = read(write(
      "attention.csv",
      "kernel,query_heads,kv_heads,head_dim,query_tokens,context_tokens,causal,cold,gpu,time_us\n"
      "attention,8,2,128,1*3|7,10*2|20|7,0,0,l40s,5\n"));
  ASSERT_EQ(launches.size(), 1);
  const auto& attention = std::get<Attention>(launches[0].kernel);
  const std::vector<SequenceSlice> expected = {{1, 10}, {1, 10}, {1, 20}, {7, 7}};
  EXPECT_EQ(attention.load.sequences, expected);
  EXPECT_FALSE(attention.causal);
  EXPECT_FALSE(attention.implementation.is_cold);
  EXPECT_EQ(launches[0].gpu, "l40s");
}

TEST_F(MeasuredRowsTest, ReadsJsonLines) {
  const auto launches = read(write("cases.jsonl",
                                   "{\"kernel\":\"rms_norm\",\"tokens\":4,\"dim\":512,\"time_us\":"
                                   "3,\"gpu\":\"l40s\",\"id\":\"a\"}\n"
                                   "\n{\"kernel\":\"rms_norm\",\"tokens\":8,\"dim\":512,\"time_"
                                   "us\":4.5,\"gpu\":\"h200-sxm\"}\n"));
  ASSERT_EQ(launches.size(), 2);
  EXPECT_EQ(launches[0].id, "a");
  EXPECT_EQ(launches[0].gpu, "l40s");
  EXPECT_DOUBLE_EQ(launches[1].time.value(), 4.5e-6);
  EXPECT_EQ(launches[1].position.line, 3);
  // Named on the command line, it holds for all rows.
  EXPECT_EQ(read((folder_ / "cases.jsonl").string(), "b200-sxm")[0].gpu, "b200-sxm");
}

TEST_F(MeasuredRowsTest, SaysWhichRowIsWrong) {
  const std::string header = "# gpu_spec: h200-sxm\nkernel,m,n,k,time_us\n";
  EXPECT_EQ(mistake("a.csv", header + "gemm,1,2,3,4\ngemm,1,2,3\n"),
            "a.csv:4: has 4 cells where the header has 5 columns");
  EXPECT_EQ(mistake("b.csv", header + "gemm,1,2,3,-4\n"),
            "b.csv:3: time_us: must be above 0, not -4");
  EXPECT_EQ(mistake("c.csv", header + "gemm,1,2,3,fast\n"),
            "c.csv:3: time_us: must be a number, not 'fast'");
  EXPECT_THAT(mistake("d.csv", header + "gem,1,2,3,4\n"),
              testing::AllOf(testing::StartsWith("d.csv:3: "), testing::HasSubstr("gemm")));
  EXPECT_EQ(mistake("e.csv", "kernel,query_tokens,gpu,time_us\nattention,1*x,l40s,1\n"),
            "e.csv:2: query_tokens: '1*x' must be value*count");
  EXPECT_EQ(mistake("f.csv", "# gpu: Abacus 3\nkernel,time_us\n"),
            "f.csv: no known GPU is called 'Abacus 3'; add a line '# gpu_spec: NAME'");
  // The PCIe card has fewer SMs than the one that is built in.
  EXPECT_EQ(mistake("f.csv", "# gpu: NVIDIA H100 PCIe\n# sm_count: 114\nkernel,time_us\n"),
            "f.csv: no known GPU is called 'NVIDIA H100 PCIe' and has 114 SMs; add a line '# "
            "gpu_spec: NAME'");
  EXPECT_EQ(mistake("g.csv", "# gpu_spec: l40s\nkernel,m\n"),
            "g.csv: has no column 'time_us'; its columns are kernel, m");
  EXPECT_EQ(mistake("h.jsonl",
                    "{\"kernel\":\"sampling\",\"rows\":1,\"vocabulary\":9,\"gpu\":\"l40s\"}\n"),
            "h.jsonl:1: 'time_us' is missing: how long the launch took");
  EXPECT_EQ(
      mistake("i.jsonl", "{\"kernel\":\"sampling\",\"rows\":1,\"vocabulary\":9,\"time_us\":2}\n"),
      "i.jsonl:1: 'gpu' is missing: name the GPU that this was measured on");
}

TEST_F(MeasuredRowsTest, GoesOnBehindABadRow) {
  MeasuredRows rows(
      write("a.csv", "# gpu_spec: l40s\nkernel,m,n,k,time_us\ngemm,0,2,3,4\ngemm,1,2,3,4\n"));
  MeasuredLaunch launch;
  EXPECT_THROW(rows.next(launch), ConfigError);
  EXPECT_TRUE(rows.next(launch));
  EXPECT_EQ(launch.position.line, 4);
  EXPECT_FALSE(rows.next(launch));
}

TEST_F(MeasuredRowsTest, FindsTheCsvsOfAFolderInOrder) {
  write("b.csv", "");
  write("a.csv.gz", "");
  write("notes.txt", "");
  EXPECT_THAT(measured_files(folder_),
              testing::ElementsAre(folder_ / "a.csv.gz", folder_ / "b.csv"));
  EXPECT_THAT(measured_files(folder_ / "notes.txt"), testing::ElementsAre(folder_ / "notes.txt"));
  EXPECT_THROW(measured_files(folder_ / "nowhere"), ConfigError);
}

}  // namespace
}  // namespace foretoken
