// What a user's file says reaches the terminal as text, and a spreadsheet as text too.
#include "sim/base/printable.hpp"

#include <gtest/gtest.h>

#include "sim/base/csv_cell.hpp"
#include "sim/base/json.hpp"

namespace foretoken {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text : {"", "p99 of 8 × H200\n\tµs … ✓", "Modèle 模型", "a\U0001F600b"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, MarksWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\x1b]0;title\x07"
                      "b"),
            "a�]0;title�b");
  EXPECT_EQ(printable("a\x1b[31mb\r\x7f"), "a�[31mb��");
  EXPECT_EQ(printable("a\u009b31mb"), "a�31mb");  // CSI as one character
  EXPECT_EQ(printable("a\x9b"
                      "31mb"),
            "a�31mb");                        // and as one byte, which is no UTF-8
  EXPECT_EQ(printable("\u202Eabc"), "�abc");  // writes from right to left
  EXPECT_EQ(printable("\xC0\xAF\xED\xA0\x80\xE2\x82"), "�������");
}

TEST(Printable, KeepsTheColoursOfTablesWhereTheyAreShown) {
  EXPECT_EQ(printable("\x1b[1mbold\x1b[0m \x1b[8mhidden", Colours::kept),
            "\x1b[1mbold\x1b[0m �[8mhidden");
}

TEST(Printable, IsWhatJsonIsToo) {
  EXPECT_EQ(to_json(Value("a\x1b\u009b\x7f"), -1), R"("a\u001b\u009b\u007f")");
}

TEST(CsvCell, IsQuotedWhereItMust) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  EXPECT_EQ(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(csv_cell("two\nlines"), "\"two\nlines\"");
}

TEST(CsvCell, IsNoFormula) {
  EXPECT_EQ(csv_cell("=1+1"), "'=1+1");
  EXPECT_EQ(csv_cell("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_cell("+cmd|' /C calc'!A0"), "'+cmd|' /C calc'!A0");
  EXPECT_EQ(csv_cell("-2+3"), "'-2+3");
  EXPECT_EQ(csv_cell("=a,b"), "\"'=a,b\"");
  for (const char* number : {"-1", "+3", "-1.5e-3", "-inf", ""})
    EXPECT_EQ(csv_cell(number), number);
}

}  // namespace
}  // namespace foretoken
