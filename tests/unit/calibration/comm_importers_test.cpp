// Importers of measured communication on a few hand-made rows: what counts elements, what counts
// bytes, whose kernels they are, and which rows go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/datasets/comm_dataset.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/calibration/data_folder.hpp"

namespace foretoken::comm_importers_test {
namespace {

using ::testing::HasSubstr;

const std::string nccl_header = "op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n";

std::string message_of(const DataFolder& folder) {
  try {
    load_comm_data(folder.path());
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(CommImporters, ReadNcclInElementsAndMilliseconds) {
  const DataFolder folder;
  folder.write("comm/h100_sxm/nccl-2.27.3-nccl_perf.csv",
               nccl_header +
                   "all_reduce,NCCL,half,8,1048576,0.0382\n"
                   "alltoall,NCCL,int8,4,1048576,0.0171\n");
  const CommDataset dataset = load_comm_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2u);
  const CommSample& exchange = dataset.samples[1];  // in the order of their operations
  EXPECT_EQ(exchange.op, CollectiveOp::all_to_all);
  EXPECT_EQ(exchange.bytes, 1048576);
  const CommSample& reduce = dataset.samples[0];
  EXPECT_EQ(reduce.gpu, "h100-sxm");
  EXPECT_EQ(reduce.version, "2.27.3");
  EXPECT_EQ(reduce.ranks, 8);
  EXPECT_EQ(reduce.nodes, 1);
  EXPECT_EQ(reduce.bytes, 2 * 1048576);
  EXPECT_DOUBLE_EQ(reduce.time.value(), 38.2e-6);
  EXPECT_EQ(reduce.library, CommLibrary::nccl);
  EXPECT_EQ(reduce.launch, CommLaunch::bench);
}

TEST(CommImporters, ReadPipeWeavesByTheNameOfTheFile) {
  const DataFolder folder;
  folder.write("comm/rtx_6000_ada_pipeweave/all_reduce.csv",
               "num_workers,size,min,max,mean,median,std\n2,2048,0.005,0.006,0.0055,0.0052,0\n");
  folder.write("comm/h800_sxm_pipeweave/send_recv.csv",
               "num_workers,size,min,max,mean,median,std\n2,4096,0.005,0.006,0.0055,0.0049,0\n");
  const CommDataset dataset = load_comm_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2u);
  const CommSample& send = dataset.samples[0];
  EXPECT_EQ(send.gpu, "h800");
  EXPECT_EQ(send.op, CollectiveOp::send_recv);
  EXPECT_EQ(send.bytes, 4096);
  EXPECT_EQ(dataset.samples[1].gpu, "rtx-6000-ada");
  EXPECT_DOUBLE_EQ(dataset.samples[1].time.value(), 5.2e-6);
  EXPECT_EQ(dataset.samples[1].launch, CommLaunch::torch);
}

TEST(CommImporters, TellFrameworksAndGraphsApart) {
  const DataFolder folder;
  folder.write("comm/b200_sxm/vllm-0.24.0-custom_allreduce_perf.csv",
               "op_name,kernel_source,allreduce_dtype,num_gpus,message_size,latency,backend\n"
               "all_reduce,vLLM_custom_graph,bfloat16,2,128,0.0066,vllm_graph\n"
               "all_reduce,vLLM_custom_eager,bfloat16,2,128,0.0202,vllm_eager\n");
  const CommDataset dataset = load_comm_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2u);
  EXPECT_EQ(dataset.samples[0].launch, CommLaunch::graph);
  EXPECT_EQ(dataset.samples[1].launch, CommLaunch::eager);
  EXPECT_EQ(dataset.samples[1].library, CommLibrary::vllm);
  EXPECT_EQ(dataset.samples[1].bytes, 256);
}

// 16 tokens of 7168 fp8 values and 56 scales of 4 bytes: 16 x 7392 B; combined in bf16: 16 x 14336.
TEST(CommImporters, ReadExpertExchangeBothWays) {
  const DataFolder folder;
  folder.write("comm/h100_sxm/sglang-0.5.6-wideep_deepep_normal_perf.csv",
               "op_name,node_num,kernel_source,hidden_size,num_token,num_topk,num_experts,"
               "dispatch_sms,dispatch_transmit_us,dispatch_notify_us,combine_sms,"
               "combine_transmit_us,combine_notify_us\n"
               "normal,2,deepep,7168,16,8,256,20,37.26,2.5,24,54.28,0\n");
  const CommDataset dataset = load_comm_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 2u);
  const CommSample& dispatch = dataset.samples[0];
  EXPECT_EQ(dispatch.op, CollectiveOp::expert_dispatch);
  EXPECT_EQ(dispatch.nodes, 2);
  EXPECT_EQ(dispatch.ranks, 16);
  EXPECT_EQ(dispatch.bytes, 16 * 7392);
  EXPECT_DOUBLE_EQ(dispatch.time.value(), 39.76e-6);  // notification included
  EXPECT_EQ(dispatch.sms, 20);
  EXPECT_EQ(dispatch.experts, (ExpertTraffic{256, 8, ExpertMode::normal}));
  EXPECT_EQ(dataset.samples[1].op, CollectiveOp::expert_combine);
  EXPECT_EQ(dataset.samples[1].bytes, 16 * 14336);
  EXPECT_EQ(dataset.samples[1].sms, 24);
}

TEST(CommImporters, ReadVidurInBytesOverNodes) {
  const DataFolder folder;
  folder.write("comm/a100_dgx_multinode/all_reduce.csv",
               ",time_stats.all_reduce.min,time_stats.all_reduce.median,rank,num_workers,size,"
               "collective,devices_per_node,max_devices_per_node\n"
               "0,0.031,0.065,0,16,2048,all_reduce,8,8\n");
  const CommDataset dataset = load_comm_data(folder.path());
  ASSERT_EQ(dataset.samples.size(), 1u);
  EXPECT_EQ(dataset.samples[0].gpu, "a100-sxm");
  EXPECT_EQ(dataset.samples[0].nodes, 2);
  EXPECT_EQ(dataset.samples[0].ranks, 16);
  EXPECT_EQ(dataset.samples[0].bytes, 2048);
  EXPECT_DOUBLE_EQ(dataset.samples[0].time.value(), 65e-6);
}

TEST(CommImporters, LeaveOutWhatMeasuresSomethingElse) {
  const DataFolder folder;
  folder.write("comm/l40s/nccl-2.27.3-nccl_perf.csv", nccl_header +
                                                          "all_reduce,NCCL,half,2,256,0.0077\n"
                                                          "all_reduce,NCCL,half,4,256,0.0119\n");
  const std::string rows =
      "all_gather,NCCL,half,2,256,0.005\n"
      "all_gather,NCCL,half,2,512,0.009\n"  // between 5 and 5.5 us
      "all_gather,NCCL,half,2,1024,0.0055\n"
      "all_gather,NCCL,half,2,2048,0.0082\n";  // the last: may be a step
  folder.write("comm/h100_sxm/nccl-2.27.3-nccl_perf.csv", nccl_header + rows);
  folder.write("comm/h100_sxm/nccl-2.28.3-nccl_perf.csv", nccl_header + rows);
  const CommDataset dataset = load_comm_data(folder.path());
  EXPECT_EQ(dataset.samples.size(), 4u);
  std::int64_t left_out = 0;
  for (const auto& [reason, count] : dataset.left_out) left_out += count;
  EXPECT_EQ(left_out, 4 + 1 + 1);  // the copy, the hiccup, the L40S without peer-to-peer
  EXPECT_EQ(dataset.left_out.size(), 3u);
}

TEST(CommImporters, NameTheLineThatIsWrong) {
  const DataFolder folder;
  folder.write("comm/h100_sxm/nccl-2.27.3-nccl_perf.csv",
               nccl_header + "all_reduce,NCCL,half,8,256,0.01\nall_reduc,NCCL,half,8,512,0.01\n");
  EXPECT_THAT(message_of(folder), HasSubstr("nccl_perf.csv:3"));
  EXPECT_THAT(message_of(folder), HasSubstr("did you mean 'all_reduce'?"));
  folder.write("comm/h100_sxm/nccl-2.27.3-nccl_perf.csv",
               nccl_header + "all_reduce,NCCL,half,eight,256,0.01\n");
  EXPECT_THAT(message_of(folder), HasSubstr("num_gpus: must be an integer, not 'eight'"));
  folder.write("comm/h100_sxm/nccl-2.27.3-nccl_perf.csv",
               "op_name,kernel_source\nall_reduce,NCCL\n");
  EXPECT_THAT(message_of(folder), HasSubstr("has no column 'nccl_dtype'"));
}

TEST(CommImporters, NeedTheFolder) {
  const DataFolder folder;
  EXPECT_THAT(message_of(folder), HasSubstr("has no folder 'comm'"));
}

TEST(CommImporters, ReadOwnFiles) {
  const DataFolder folder;
  folder.write("own/comm.csv",
               "# format: foretoken dataset 1\n# gpu: NVIDIA H200\n"
               "operation,library,version,algorithm,protocol,launch,dtype,nodes,ranks,bytes,"
               "time_us,p10_us,p90_us,calls,repeats,pass\n"
               "all_reduce,nccl,2.28.9,auto,auto,graph,bf16,1,2,1024,6.5,6.4,6.6,40,21,0\n"
               "all_reduce,foretoken_cuda,1,one_shot,peer,eager,bf16,1,2,1024,4,4,4,40,21,0\n"
               "all_reduce,nccl,2.28.9,auto,auto,graph,bf16,1,2,1024,6.4,6.3,6.6,40,21,1\n");
  const CommDataset dataset = load_own_comm(folder.path() / "own");
  ASSERT_EQ(dataset.samples.size(), 2u);  // pass 1 tells the noise
  EXPECT_EQ(dataset.samples[0].gpu, "h200-sxm");
  EXPECT_EQ(dataset.samples[0].launch, CommLaunch::graph);
  EXPECT_DOUBLE_EQ(dataset.samples[0].time.value(), 6.5e-6);
  EXPECT_EQ(dataset.samples[1].library, CommLibrary::one_shot);
}

}  // namespace
}  // namespace foretoken::comm_importers_test
