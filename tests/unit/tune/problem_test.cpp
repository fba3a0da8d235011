// The suite: headers, spaces, sources.
#include "calibration/tune/problem.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "calibration/tune/evaluation.hpp"
#include "calibration/tune/rewriter.hpp"

namespace foretoken::tune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view small = R"cuda(//! summary = "twice x"
//! dims = ["n"]
//! shapes = [[16], [64]]
//! tolerance = 0.0
//! parameters = [
//!   {name = "BLOCK", strategy = "tiling", values = [32, 64, 128], start = 64},
//!   {name = "VEC", strategy = "vectorization", values = [1, 2], start = 1},
//! ]
//! buffers = [
//!   {name = "x", type = "f32", count = "n", fill = "uniform"},
//!   {name = "y", type = "f32", count = "n", role = "output"},
//! ]
//! launches = [{kernel = "twice", grid = ["ceildiv(n, BLOCK * VEC)"], block = ["BLOCK"], arguments = ["x", "y", "n"]}]
//! reference = [{kernel = "twice", grid = ["1"], block = ["64"], arguments = ["x", "y", "n"]}]
//! cost = {flops = "n", bytes = "8 * n", cache_bytes = "8 * n"}
extern "C" __global__ void twice(const float* x, float* y, int n) {}
)cuda";

std::string mistakes(std::string text) {
  try {
    parse_problem(text, "twice", "twice.cu");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(small);
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Problem, SpansTheProductOfItsParameters) {
  const Problem problem = parse_problem(small, "twice", "twice.cu");
  const std::vector<State> states = all_states(problem);
  EXPECT_EQ(states.size(), 6U);
  EXPECT_EQ(std::set<State>(states.begin(), states.end()).size(), 6U);
  EXPECT_EQ(text_of(problem, start_state(problem)), "BLOCK=64 VEC=1");
  EXPECT_THAT(source_of(problem, {2, 1}),
              AllOf(HasSubstr("#define BLOCK 128\n#define VEC 2\n"), HasSubstr("void twice(")));
  const Names names = names_of(problem, constants_at(problem, {2, 1}), 1, 132);
  EXPECT_EQ(names, (Names{{"BLOCK", 128}, {"VEC", 2}, {"n", 64}, {"SMS", 132}}));
}

TEST(Problem, SaysEveryMistakeWithItsLine) {
  EXPECT_THAT(mistakes(replaced("\"tiling\"", "\"tilling\"")),
              AllOf(HasSubstr("twice.cu:6"), HasSubstr("did you mean 'tiling'?")));
  EXPECT_THAT(mistakes(replaced("start = 64", "start = 96")),
              HasSubstr("is not one of the values"));
  EXPECT_THAT(mistakes(replaced("[[16], [64]]", "[[16], [64, 2]]")),
              HasSubstr("a shape has 1 sizes"));
  EXPECT_THAT(mistakes(replaced("8 * n", "8 * m")), HasSubstr("unknown name 'm'"));
  EXPECT_THAT(mistakes(replaced("role =", "rolle =")), HasSubstr("did you mean 'role'?"));
  EXPECT_THAT(mistakes("__global__ void f() {}"), HasSubstr("no header"));
}

TEST(Problem, ReadsASourcesOwnConstants) {
  EXPECT_EQ(constants_in("#define VEC 4\n#define NAME x\n#define BLOCK 64 \n#define VEC 8\n"
                         "#define FLAG\n#define HALF 4 / 2\n"),
            (Names{{"BLOCK", 64}, {"VEC", 8}}));
}

TEST(Problem, MovesGoToNeighbouringValuesAndBack) {
  const Problem problem = parse_problem(small, "twice", "twice.cu");
  EXPECT_EQ(moves(problem, {1, 0}, Strategy::tiling), (std::vector<State>{{2, 0}, {0, 0}}));
  EXPECT_EQ(moves(problem, {2, 0}, Strategy::tiling), (std::vector<State>{{1, 0}}));
  EXPECT_TRUE(moves(problem, {1, 0}, Strategy::fusion).empty());
}

TEST(Problem, EqualSourcesAreOneIdentity) {
  const Problem problem = parse_problem(small, "twice", "twice.cu");
  const Candidate one = complete(problem, candidate_at(problem, {1, 0}));
  Candidate other = one;
  EXPECT_EQ(identity_of(one), identity_of(other));
  other.launches[0].shared = "1024";
  EXPECT_NE(identity_of(one), identity_of(other)) << "a launch is part of an implementation";
}

TEST(Suite, HasTheKernelsAndShapesThatComparisonsNeed) {
  const std::vector<Problem> suite = load_suite();
  EXPECT_GE(suite.size(), 20U);
  for (const Problem& problem : suite) {
    EXPECT_GE(problem.shapes.size(), 10U) << problem.name;
    std::set<Strategy> strategies;
    for (const Parameter& parameter : problem.parameters) strategies.insert(parameter.strategy);
    EXPECT_GE(strategies.size(), 4U) << problem.name << " leaves a bandit little to choose";
    EXPECT_GE(all_states(problem).size(), 200U) << problem.name;
    EXPECT_TRUE(problem.level == 1 || problem.level == 2) << problem.name;
  }
}

TEST(Suite, EveryImplementationOfEveryShapeHasALaunch) {
  for (const Problem& problem : load_suite()) {
    for (const State& state : all_states(problem)) {
      for (const std::size_t shape : {std::size_t{0}, problem.shapes.size() - 1}) {
        const Names names = names_of(problem, constants_at(problem, state), shape, 132);
        int launches = 0;
        for (const Launch& launch : problem.launches) {
          if (evaluate(launch.when, names) == 0) continue;
          ++launches;
          for (const auto* sizes : {&launch.grid, &launch.block}) {
            for (const std::string& size : *sizes) {
              const double value = evaluate(size, names);
              ASSERT_TRUE(value >= 1 && value == std::floor(value))
                  << problem.name << " " << text_of(problem, state) << ": " << size;
            }
          }
        }
        ASSERT_GE(launches, 1) << problem.name << " " << text_of(problem, state);
        ASSERT_GT(evaluate(problem.cost.cache_bytes, names), 0) << problem.name;
      }
    }
  }
}

}  // namespace
}  // namespace foretoken::tune
