// Agents as they are read: mistakes, and the table that is written back.

#include "workloads/requests/agents.hpp"

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken {
namespace {

const std::string traffic =
    "arrivals = \"interval\"\nrate = \"1 /s\"\nrequests = 5\nprompt_tokens = 1\noutput_tokens = "
    "1\n";

TEST(Agents, MistakesAreTold) {
  EXPECT_EQ(read(traffic + "agents = { calls = 3, tool_tokens = 9, tool = 1 }\n").errors,
            "s.toml:7:1: workload.agents.tool_time: is missing; write a time, for example \"2 s\", "
            "or \"0 s\"\n"
            "s.toml:7:40: unknown key 'tool' in [workload.agents]; did you mean 'tool_time'?");
  const std::string agents = "agents = { calls = 3, tool_tokens = 9, tool_time = \"1 s\"";
  EXPECT_EQ(read(traffic + agents + ", context_tokens_max = 9, context_tokens_kept = 9 }\n").errors,
            "s.toml:7:83: workload.agents.context_tokens_kept: must be below context_tokens_max");
  EXPECT_EQ(read(traffic + agents + ", subagents = { count = 2, calls = 2, prompt_tokens = 1 } }\n")
                .errors,
            "s.toml:7:59: workload.agents.subagents.share: is missing; write a number from 0 to 1");
  EXPECT_EQ(read(traffic + agents + " }\nsessions = { turns = 2, think_time = \"1 s\" }\n").errors,
            "s.toml:7:1: workload.agents: and sessions are mutually exclusive; keep one of the two "
            "tables");
}

TEST(Agents, WhatIsReadIsWrittenBack) {
  const ReadWorkload result =
      read(traffic +
           "agents = { calls = 3, tool_tokens = 9, tool_time = \"1 s\", thinking_tokens = 5, "
           "subagents = { share = 0.5, count = 2, calls = 2, prompt_tokens = 1 } }\n");
  ASSERT_EQ(result.errors, "");
  const Value written = result.workload->resolved();
  const Value* agents = written.find("agents");
  ASSERT_NE(agents, nullptr);
  EXPECT_NE(agents->find("thinking_tokens"), nullptr);
  ASSERT_NE(agents->find("subagents"), nullptr);
  EXPECT_NE(agents->find("subagents")->find("share"), nullptr);
}

}  // namespace
}  // namespace foretoken
