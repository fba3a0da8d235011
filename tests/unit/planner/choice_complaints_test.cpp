// Which of a plan's values are slips of the pen, and where that is said.

#include "sim/planner/choice_complaints.hpp"

#include <gmock/gmock.h>

namespace foretoken {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<LayoutChoice> axes() {
  return {{"gpu", "GPU", {"a", "b"}},
          {"model.dtype", "dtype", {"bf16", "fp9"}, {}, {{"s.toml", 7, 3}, {"s.toml", 7, 9}}},
          {"pools", "p:d", {"1:1", "1:0"}, {"pool.p.replicas", "pool.d.replicas"}, {{"--pools"}}}};
}

std::string told(const ChoiceComplaints& complaints) {
  try {
    complaints.throw_if_any();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

ConfigError slip_at(const std::string& set, const std::string& message) {
  return {SourcePosition{"--set " + set}, message, Mistake::slip};
}
ConfigError misfit_at(const std::string& set, const std::string& message) {
  return {SourcePosition{"--set " + set}, message};
}

TEST(ChoiceComplaints, ANameThatNobodyKnowsIsToldWhereItStands) {
  const auto choices = axes();
  ChoiceComplaints complaints(choices);
  complaints.accept({{"a", "bf16", "1:1"}});
  complaints.refuse({{"a", "fp9", "1:1"}},
                    slip_at("model.dtype=fp9", "model.dtype: unknown value"));
  complaints.refuse({{"b", "fp9", "1:1"}},
                    slip_at("model.dtype=fp9", "model.dtype: unknown value"));
  EXPECT_EQ(told(complaints), "s.toml:7:9: model.dtype: unknown value");
}

TEST(ChoiceComplaints, WhatDoesNotGoTogetherIsNoSlip) {
  const auto choices = axes();
  ChoiceComplaints complaints(choices);
  complaints.accept({{"a", "bf16", "1:1"}});
  complaints.refuse(
      {{"a", "fp9", "1:1"}},
      misfit_at("model.dtype=fp9", "model.dtype: must be known to a, but is \"fp9\""));
  EXPECT_EQ(told(complaints), "");
}

TEST(ChoiceComplaints, AValueThatSomeChoiceTakesIsNoSlip) {
  const auto choices = axes();
  ChoiceComplaints complaints(choices);
  complaints.accept({{"b", "fp9", "1:1"}});
  complaints.refuse({{"a", "fp9", "1:1"}}, slip_at("model.dtype=fp9", "model.dtype: must be bf16"));
  EXPECT_EQ(told(complaints), "");
}

TEST(ChoiceComplaints, PartsOfARatioAreItsValue) {
  const auto choices = axes();
  ChoiceComplaints complaints(choices);
  complaints.accept({{"a", "bf16", "1:1"}});
  complaints.refuse({{"a", "bf16", "1:0"}},
                    slip_at("pool.d.replicas=0", "pool.d.replicas: must be at least 1, not 0"));
  EXPECT_EQ(told(complaints), "--set pool.d.replicas=0: pool.d.replicas: must be at least 1, not 0")
      << "this axis has no position for its second value";
}

TEST(ChoiceComplaints, IfNothingCanBeEveryReasonIsToldOnce) {
  const auto choices = axes();
  ChoiceComplaints complaints(choices);
  for (const char* gpu : {"a", "b"}) {
    complaints.refuse({{gpu, "bf16", "1:1"}},
                      misfit_at("model.dtype=bf16", "3 does not divide 64"));
    complaints.refuse({{gpu, "fp9", "1:1"}}, {{"s.toml", 2, 1}, "no room"});
  }
  EXPECT_EQ(told(complaints), "s.toml:2:1: no room\ns.toml:7:3: 3 does not divide 64");
}

}  // namespace
}  // namespace foretoken
