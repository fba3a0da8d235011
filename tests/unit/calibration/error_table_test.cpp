// The table of held-out errors from made-up evaluations, and the one that ships.

#include "calibration/evaluate/error_table.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Value line(const std::string& family, const std::string& fold, const std::string& gpu,
           double mape) {
  return ValueObject{{"family", family}, {"split", fold}, {"gpu", gpu},  {"source", "all"},
                     {"predictor", "p"}, {"rows", 10},    {"mape", mape}};
}

/// Every family is 4 % off on two GPUs but those of `other`.
Value evaluation(const std::vector<std::pair<std::string, double>>& other, bool of_all = true) {
  ValueArray lines;
  for (const ErrorFamily& family : error_families()) {
    for (const std::string_view part : family.parts) {
      double mape = 0.04;
      bool is_named = of_all;
      for (const auto& [name, error] : other) {
        if (name == part) mape = error, is_named = true;
      }
      if (!is_named) continue;
      lines.push_back(line(std::string(part), "all", "all", mape));
      lines.push_back(line(std::string(part), "held out", "b", mape));
      lines.push_back(line(std::string(part), "held out", "a", mape));
    }
  }
  return ValueObject{{"lines", lines}};
}

const HeldOutError& find(const std::vector<HeldOutError>& errors, const std::string& family) {
  return *std::ranges::find(errors, family, &HeldOutError::family);
}

TEST(ErrorTable, TakesTheLargerErrorOfAFamilysKernels) {
  const auto errors = kernel_errors(
      evaluation({{"attention_decode", 0.02}, {"attention_prefill", 0.03}}),
      evaluation({{"attention_decode", 0.10}, {"attention_prefill", 0.08}, {"gemm_16bit", 0.01}},
                 false));
  EXPECT_EQ(errors.size(), error_families().size());
  EXPECT_DOUBLE_EQ(find(errors, "attention").error, 0.03);
  EXPECT_DOUBLE_EQ(find(errors, "attention").unseen, 0.10);
  EXPECT_FALSE(find(errors, "attention").is_unseen_assumed);
  EXPECT_THAT(find(errors, "attention").gpus, ElementsAre("a", "b"));
  // A GPU that was left out is not the easier one, and one GPU alone says nothing of others.
  EXPECT_DOUBLE_EQ(find(errors, "gemm_16bit").unseen, 0.04);
  EXPECT_DOUBLE_EQ(find(errors, "rope").unseen, 0.10);
  EXPECT_TRUE(find(errors, "rope").is_unseen_assumed);
}

TEST(ErrorTable, HostTimeIsTheMeanOverServersThatWereNotCalibratedOn) {
  const auto server = [](const char* part, double host) {
    return ValueObject{{"part", part}, {"host_alone", host}};
  };
  const Value silicon = ValueObject{
      {"host", ValueArray{server("test", -0.1), server("test", 0.3), server("calibration", 0.9)}}};
  EXPECT_DOUBLE_EQ(host_error(silicon).error, 0.2);
  EXPECT_THROW((void)host_error(ValueObject{{"host", ValueArray{server("calibration", 0.9)}}}),
               ConfigError);
}

// Nine of ten are off by no more than a tenth; half an interval of 90 % is 2.06 mean errors.
TEST(ErrorTable, ServersAreAsFarOffAsNineOfTenOfThoseLookedAt) {
  const auto point = [](const char* part, double simulated) {
    return ValueObject{{"part", part},
                       {"measured_ttft_ms", 1.0},
                       {"simulated_ttft_ms", simulated},
                       {"measured_tpot_ms", 1.0},
                       {"simulated_tpot_ms", 1 / simulated}};
  };
  ValueArray points{point("test", 9), ValueObject{{"part", "calibration"}, {"failure", "none"}}};
  for (int i = 0; i < 8; ++i) points.emplace_back(point("calibration", 1.01));
  points.emplace_back(point("calibration", std::exp(0.1)));
  points.emplace_back(point("calibration", 1.0));
  const auto found = server_errors(ValueObject{{"points", points}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].family, "server_ttft");
  EXPECT_NEAR(found[0].error, 0.1 / 2.0615, 1e-5);
  EXPECT_NEAR(found[1].error, 0.1 / 2.0615, 1e-5);
  EXPECT_THROW((void)server_errors(ValueObject{{"points", ValueArray{point("test", 2)}}}),
               ConfigError);
}

TEST(ErrorTable, CommunicationIsTheMeanOverTheGpusLeftOut) {
  const auto fold = [](const char* split, const char* gpu, double mape) {
    return ValueObject{{"library", "nccl bench"}, {"operation", "all_reduce"},
                       {"split", split},          {"gpu", gpu},
                       {"size", "all"},           {"formula", ValueObject{{"mape", mape}}}};
  };
  const HeldOutError error = communication_error(ValueObject{
      {"lines",
       ValueArray{fold("8 GPUs from 2 and 4", "all", 0.1), fold("sizes left out", "all", 0.9),
                  fold("b left out", "all", 0.2), fold("b left out", "b", 0.2),
                  fold("a left out", "a", 0.4), fold("a left out", "all", 0.4)}}});
  EXPECT_DOUBLE_EQ(error.error, 0.1);
  EXPECT_DOUBLE_EQ(error.unseen, 0.3);
  EXPECT_THAT(error.gpus, ElementsAre("a", "b"));
}

TEST(ErrorTable, SaysWhatItLacks) {
  EXPECT_THROW((void)kernel_errors(evaluation({{"rope", 0.1}}, false), evaluation({})),
               ConfigError);
  EXPECT_THROW((void)kernel_errors(ValueObject{{"rows", 1}}, evaluation({})), ConfigError);
  EXPECT_THROW((void)communication_error(ValueObject{{"lines", ValueArray{}}}), ConfigError);
}

TEST(ErrorTable, IsTomlThatReadsBack) {
  const HeldOutError error = {"synperf", "rope", 0.0301, 0.07525, true, {"h200-sxm", "l40s"}};
  const std::string text = error_table_text({error}, {"said by", "  a command"});
  EXPECT_THAT(text, HasSubstr("# said by\n#   a command\n"));
  EXPECT_THAT(text, HasSubstr("unseen = 0.076  # assumed"));
  const Value back = parse_toml(text, "table.toml");
  const Value& rope = *back.find("synperf")->find("rope");
  EXPECT_DOUBLE_EQ(std::get<double>(rope.find("error")->data), 0.031);
  EXPECT_EQ(std::get<ValueArray>(rope.find("gpus")->data).size(), 2U);
}

TEST(ErrorTable, KeepsWhatIsNotMeasuredAnew) {
  const std::vector<HeldOutError> before = kernel_errors(
      evaluation({}), evaluation({{"attention_decode", 0.20}, {"gemm_16bit", 0.05}}, false));
  const Value table = parse_toml(error_table_text(before, {}), "kept.toml");
  // Half as far off as before, products three times as far.
  const std::vector<HeldOutError> anew = kernel_errors(
      evaluation({{"attention_decode", 0.02}, {"attention_prefill", 0.02}, {"gemm_16bit", 0.12}}),
      read_error_table(table));
  EXPECT_DOUBLE_EQ(find(anew, "attention").error, 0.02);
  EXPECT_DOUBLE_EQ(find(anew, "attention").unseen, 0.20);
  EXPECT_DOUBLE_EQ(find(anew, "gemm_16bit").unseen, 0.12);
  EXPECT_THROW((void)kernel_errors(evaluation({}), std::vector<HeldOutError>{}), ConfigError);
  EXPECT_THROW((void)read_error_table(parse_toml("[a]\nb = 1\n", "no.toml")), ConfigError);
}

/// What calibration/ACCURACY.md, which a test holds to what `evaluate` prints, says of each
/// predictor and family, in %.
std::map<std::string, std::map<std::string, double, std::less<>>> page_errors() {
  std::ifstream page(std::string(FORETOKEN_SOURCE_DIR) + "/calibration/ACCURACY.md");
  std::map<std::string, std::map<std::string, double, std::less<>>> errors;
  std::vector<std::string> titles;
  bool is_held_out = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_held_out = line == "## Held-out layouts";
    if (!is_held_out) continue;
    std::vector<std::string> cells;  // two blanks or more between them, "synperf %" is one
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == "%" && !cells.empty())
        cells.back() += " %";
      else
        cells.push_back(word);
    }
    if (cells.size() > 5 && cells[0] == "family" && cells[1] == "split") titles = cells;
    if (line == "```") titles.clear();  // the table ends, and what follows is prose
    if (titles.empty() || cells.size() != titles.size()) continue;
    for (std::size_t i = 5; i < cells.size(); ++i) {
      if (!titles[i].ends_with(" %") || cells == titles) continue;
      errors[titles[i].substr(0, titles[i].size() - 2)][cells[0]] = std::stod(cells[i]);
    }
  }
  return errors;
}

// Else: foretoken-calibrate errors, as the table's head says.
TEST(ErrorTable, ThatShipsIsOfThePricesOfToday) {
  const auto page = page_errors();
  const auto shipped = read_error_table(
      load_toml(std::string(FORETOKEN_SOURCE_DIR) + "/sim/report/tables/predictor_errors.toml"));
  int compared = 0;
  for (const HeldOutError& row : shipped) {
    if (row.predictor == "all") continue;
    const auto& family = *std::ranges::find(error_families(), row.family, &ErrorFamily::name);
    double largest = 0;
    for (const std::string_view part : family.parts)
      largest = std::max(largest, page.at(row.predictor).find(part)->second);
    // The page rounds to 0.1 %, the table up to that.
    EXPECT_NEAR(100 * row.error, std::min(largest, 100.0), 0.151)
        << row.predictor << ' ' << row.family;
    ++compared;
  }
  EXPECT_EQ(compared, 5 * static_cast<int>(error_families().size()));
}

TEST(ErrorTable, ThatShipsHasEveryFamilyOfEveryPredictor) {
  const Value table =
      load_toml(std::string(FORETOKEN_SOURCE_DIR) + "/sim/report/tables/predictor_errors.toml");
  for (const char* predictor : {"synperf", "roofline", "linear", "neusight"}) {
    const Value* families = table.find(predictor);
    ASSERT_NE(families, nullptr) << predictor;
    for (const ErrorFamily& family : error_families()) {
      const Value* row = families->find(family.name);
      ASSERT_NE(row, nullptr) << predictor << " " << family.name;
      EXPECT_GE(std::get<double>(row->find("unseen")->data),
                std::get<double>(row->find("error")->data))
          << predictor << " " << family.name;
    }
  }
  EXPECT_NE(table.find("all")->find("communication"), nullptr);
  EXPECT_NE(table.find("all")->find("host"), nullptr);
}

}  // namespace
}  // namespace foretoken
