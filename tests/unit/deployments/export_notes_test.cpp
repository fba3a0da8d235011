// What servers' launch lines cannot say of a fleet is told beside them.
#include <gmock/gmock.h>

#include "sim/base/toml.hpp"
#include "sim/deployments/scenario_servers.hpp"

namespace foretoken::export_notes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> notes(const std::string& rest) {
  const std::string text = R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-8"
[engine]
preset = "vllm-v1"
[workload]
arrivals = "all_at_once"
requests = 20
prompt_tokens = 1000
output_tokens = 100
)" + rest;
  return servers_of(read_scenario(parse_toml(text, "test.toml"), {".", false})).notes;
}

TEST(ExportNotes, SayWhatTheGatewayHasToDo) {
  EXPECT_THAT(notes(""), IsEmpty());
  EXPECT_THAT(notes("[deployment]\nreplicas = 2\nrouter = \"scored\"\n"),
              ElementsAre(HasSubstr("the router \"scored\" and its options are not exported")));
  const std::string apart = "[pool.p]\nrole = \"prefill\"\n[pool.d]\nrole = \"decode\"\n";
  EXPECT_THAT(notes(apart), ElementsAre(::testing::EndsWith("(Dynamo's and llm-d's do)")));
  EXPECT_THAT(notes("[deployment]\nlocal_prefill_max = 512\n" + apart),
              ElementsAre(HasSubstr("those of up to 512 tokens only to the decode servers")));
  EXPECT_THAT(notes("[front_end]\noutstanding_max = 8\n"),
              ElementsAre(HasSubstr("[front_end] is not exported")));
  EXPECT_THAT(
      notes("[deployment]\nretry = \"failed_side\"\nkv_transfer = \"layer_wise\"\n" + apart),
      ElementsAre(HasSubstr("kv_transfer = \"layer_wise\" is not exported"),
                  HasSubstr("retry = \"failed_side\" is not exported"), ::testing::_));
}

TEST(ExportNotes, NoServerSwaps) {
  const auto told = notes(
      "[pool.one]\nrole = \"both\"\nengine = { host_kv = \"8 GiB\", preemption = "
      "\"swap\" }\n");
  EXPECT_THAT(told,
              ElementsAre("one: preemption = \"swap\" is not exported: the server recomputes"));
}

constexpr const char* two_models =
    "classes = [{ model = \"llama-3.1-8b\", share = 1 }, { model = \"qwen3-0.6b\", share = 1 }]\n"
    "[pool.chat]\nrole = \"both\"\nreplicas = 2\n"
    "[pool.other]\nrole = \"both\"\nmodel = { name = \"qwen3-0.6b\" }\n";

TEST(ExportNotes, SeveralModelsNeedAGatewayThatKnowsThem) {
  EXPECT_THAT(notes(two_models),
              ElementsAre(HasSubstr("a gateway in front has to send each request to the servers of "
                                    "the model that it names")));
}

}  // namespace
}  // namespace foretoken::export_notes_test
