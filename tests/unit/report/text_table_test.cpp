// The exact text of small tables, and that none is wider than asked.
#include "sim/report/text_table.hpp"

#include <gmock/gmock.h>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

TextTable kernels() {
  TextTable table({{"kernel"}, {"calls", Align::right}, {"µs", Align::right}, {"bound"}});
  table.add_row({"gemm", "32", "1,204.5", "dram"});
  table.add_row({"attention", "8", "96.1", "tensor"});
  return table;
}

TEST(TextTable, AlignsColumns) {
  EXPECT_EQ(kernels().text({}),
            "  kernel     calls       µs  bound\n"
            "  gemm          32  1,204.5  dram\n"
            "  attention      8     96.1  tensor\n");
}

TEST(TextTable, RulesOffATotal) {
  TextTable table = kernels();
  table.set_total({"total", "40", "1,300.6", ""});
  EXPECT_EQ(table.text({}),
            "  kernel     calls       µs  bound\n"
            "  gemm          32  1,204.5  dram\n"
            "  attention      8     96.1  tensor\n"
            "  ─────────────────────────────────\n"
            "  total         40  1,300.6\n");
}

TEST(TextTable, NeedsNoHeaderAndNoRows) {
  TextTable table({{}, {}});
  EXPECT_EQ(table.text({}), "");
  table.add_row({"name", "what it is"});
  EXPECT_EQ(table.text({.indent = 0, .gap = 1}), "name what it is\n");
}

TEST(TextTable, CutsTheWidestTextBeforeAnyNumber) {
  TextTable table({{"name"}, {"price", Align::right}, {"summary"}});
  table.add_row({"vllm_v1", "12,345,678", "continuous batching with chunked prefill"});
  EXPECT_EQ(table.text({.width = 36}),
            "  name          price  summary\n"
            "  vllm_v1  12,345,678  continuous b…\n");
}

TEST(TextTable, CutsWholeLinesWhenNumbersAloneAreTooWide) {
  TextTable table({{"", Align::right}, {"", Align::right}});
  table.add_row({"1,234,567,890", "1,234,567,890"});
  EXPECT_EQ(table.text({.width = 20}), "  1,234,567,890  1,…\n");
}

TEST(TextTable, GoesOnBelowWithTheFirstColumnsAgain) {
  TextTable table({{"tp", Align::right},
                   {"TTFT p99", Align::right},
                   {"TPOT p99", Align::right},
                   {"tok/s", Align::right},
                   {""}});
  table.add_row({"2", "105", "8.53", "1,214", "*"});
  table.add_row({"16", "97.1", "6.20", "1,533", ""});
  const TextTable::Layout layout = {.width = 26, .kept = 1};
  // Indent 2, then 2 + 2 + 8 + 2 + 8 = 22 columns; tok/s and the mark without a name do not fit.
  EXPECT_EQ(table.text(layout),
            "  tp  TTFT p99  TPOT p99\n"
            "   2       105      8.53\n"
            "  16      97.1      6.20\n"
            "\n"
            "  tp  tok/s\n"
            "   2  1,214  *\n"
            "  16  1,533\n");
  EXPECT_EQ(table.text({.width = 36, .kept = 1}), table.text({.width = 36}));  // as it fits
}

TEST(TextTable, CutsRepeatedColumnsThatTakeMoreThanHalf) {
  TextTable table({{"prompt", Align::right}, {"a", Align::right}, {"b", Align::right}});
  table.add_row({"{ mean = 1155 }", "123456789", "987654321"});
  // 22 / 2 columns for the first with its gap: 9 of its 15.
  EXPECT_EQ(table.text({.width = 22, .kept = 1}),
            "     prompt          a\n"
            "  { mean =…  123456789\n"
            "\n"
            "     prompt          b\n"
            "  { mean =…  987654321\n");
}

TEST(TextTable, ColoursTheHeaderAndTheRuleAlone) {
  TextTable table({{"a"}});
  table.add_row({"x"});
  table.set_total({"y"});
  EXPECT_EQ(table.text({.indent = 0, .colour = true}), "\x1b[2ma\x1b[0m\nx\n\x1b[2m─\x1b[0m\ny\n");
}

TEST(TextTable, LinesNeverExceedTheWidth) {
  TextTable table = kernels();
  table.set_total({"the sum of everything", "40", "1,300.6", "µµµµµµµµµµµ"});
  for (int width = 10; width < 60; ++width) {
    const std::string text = table.text({.width = width, .colour = true});
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      EXPECT_LE(display_width(text.substr(begin, text.find('\n', begin) - begin)), width);
    }
  }
}

TEST(TextTable, NaturalWidthIsTheLongestLine) {
  EXPECT_EQ(kernels().natural_width({}), 35);  // indent 2, cells 9 + 5 + 7 + 6, gaps 3 * 2
}

TEST(TextTable, RefusesARowOfAnotherLength) {
  TextTable table({{"a"}, {"b"}});
  EXPECT_THROW(table.add_row({"1"}), InternalError);
  EXPECT_THROW(table.set_total({"1", "2", "3"}), InternalError);
}

TEST(TextTable, AColumnThatFoldsKeepsItsWordsWhole) {
  TextTable table({{.folds = true}, {.folds = true}});
  table.add_row({"twice the step token budget (16,384)", "cluster.scale.dram_bandwidth=1.25"});
  EXPECT_EQ(table.text({.width = 60}),
            "  twice the step token     cluster.scale.dram_bandwidth=1.25\n"
            "  budget (16,384)\n");
}

}  // namespace
}  // namespace foretoken
