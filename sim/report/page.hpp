// One self-contained HTML page of tiles, charts, bars, tables and text: what `--report` writes, for
// runs, comparisons, validations and whatever else has an answer to show. A page is filled section
// by section from plain numbers; style, script and the plotting library come from inside the
// program, and nothing is fetched when it is viewed. page/*.js draws what stands here; tables are
// packed (page_column.cpp), so that 100,000 rows stay below 5 MB.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

/// A number that is not there: an empty cell of a table, no point in a chart.
inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// A figure that the reader came for.
struct PageTile {
  enum class Tone { plain, good, bad };
  std::string label;  // "TTFT p99"
  std::string value;  // "105"
  std::string unit;   // "ms"
  std::string note;   // "p50 27.2 ms"
  Tone tone = Tone::plain;
};

/// An axis; `log` wants values above zero.
struct PageAxis {
  std::string label;  // with its unit: "time to first token, ms"
  bool log = false;
  bool is_share = false;  // 0 to 1, shown in per cent
};

/// A line, a staircase, an area or points, by ascending x unless it is points.
struct PageSeries {
  enum class Kind { line, steps, area, points };
  std::string name;
  Kind kind = Kind::line;
  std::vector<double> x, y;
  std::vector<double> size = {};            // points: share of the largest one's area, 0 to 1
  std::vector<std::string> notes = {};      // points: what the reader sees when pointing at one
  std::vector<double> low = {}, high = {};  // whiskers at each y, where it is not sure
};

struct PageMark {
  double x = 0;
  std::string label;  // "target 500 ms"
};

struct PageChart {
  std::string title;
  PageAxis x, y;
  std::vector<PageSeries> series;
  std::vector<PageMark> marks = {};  // lines across
  std::string sync = {};             // charts of one name share their cursor
};

/// Bars of shares of a whole, each cut into named parts.
struct PageBar {
  std::string name;                                   // "gemm"
  std::string value;                                  // "54.7 s"
  std::vector<std::pair<std::string, double>> parts;  // "dram", 40.1; in order
};

/// What something would gain or lose, as a bar to the right or to the left of zero.
struct PageGain {
  std::string name;   // "gpu.dram_bandwidth=+20%"
  std::string value;  // "+11.4 %"
  double gain = 0;    // more is better
};

/// A column of a table. Numbers that are NaN are empty cells.
struct PageColumn {
  std::string name, unit;  // "TTFT", "ms"
  bool is_text = false;
  int decimals = 0;
  std::vector<double> numbers;
  std::vector<double> low = {}, high = {};  // in brackets behind the number; NaN: nothing known
  std::vector<double> price_low = {}, price_high = {};  // for prices alone, in square brackets
  bool is_key = false;  // offered to filter by, as columns of few texts are
  std::vector<std::string> texts;

  static PageColumn of_numbers(std::string name, std::string unit, int decimals,
                               std::vector<double> numbers);
  static PageColumn of_texts(std::string name, std::vector<std::string> texts);
  /// A key: of numbers if all texts are some, so that 16 comes after 8; else of the texts.
  static PageColumn of_values(std::string name, std::vector<std::string> texts);
  [[nodiscard]] std::size_t rows() const { return is_text ? texts.size() : numbers.size(); }
};

/// What a reader looks for first stands first, where a phone shows it: behind the first column
/// costs, then keys, then 99th percentiles, then all else, each in their order.
void put_costs_first(std::vector<PageColumn>& columns);

/// Figures at points whose place is a value of each of some keys. The reader chooses the figure and
/// which key runs along the axis: a line chart where its values are numbers, else bars or, of two
/// keys, a table whose cells are coloured.
struct PageGrid {
  struct Key {
    std::string name;                 // "rate"
    std::string unit;                 // of the numbers
    std::vector<std::string> values;  // "4 /s"
    std::vector<double> numbers;      // of the values; empty: some of them is none
  };
  struct Figure {
    std::string name, unit;  // "TTFT p99", "ms"
    int decimals = 0;
    bool more_is_better = false;
    std::vector<double> means = {};           // by point; NaN: nothing ran there
    std::vector<double> low = {}, high = {};  // empty: unknown
  };
  std::vector<Key> keys;
  std::vector<std::vector<std::size_t>> places;  // by key, then by point: which of its values
  bool is_crossed = true;                        // false: the keys' values go side by side
  std::vector<Figure> figures;
};

class ReportPage {
 public:
  /// `kind` is "simulation", "comparison" …; `version` of Foretoken.
  ReportPage(std::string title, std::string kind, std::string version);

  /// What follows belongs to a section of this name; `note` is a sentence under it.
  void section(std::string name, std::string note = "");
  void tiles(const std::vector<PageTile>& tiles);
  void chart(const PageChart& chart);
  /// Lengths are shares of `whole`; nothing is drawn of no bars.
  void bars(const std::string& title, const std::vector<PageBar>& bars, double whole);
  /// Of bars to both sides of zero, the longest fills its side.
  void gains(const std::string& title, const std::vector<PageGain>& gains);
  void grid(const PageGrid& grid);
  /// Columns of equal length. `name` is what a row is: "request".
  void table(const std::string& name, const std::vector<PageColumn>& columns);
  void notes(const std::vector<std::string>& notes);
  /// Text as it stands, in a box that opens.
  void text(const std::string& title, const std::string& text);

  /// The whole file. Throws ConfigError where the program was built without the plotting library.
  [[nodiscard]] std::string html() const;

 private:
  void add(const char* kind, ValueObject part);

  std::string title_, kind_, version_;
  ValueArray parts_;
};

/// Throws what html() would throw for want of the plotting library; before a long run.
void check_page_charts();

/// At most `points_max` points of the distribution function of `samples` (in any order), as a
/// staircase of shares; the ends and the last per cent are kept well.
PageSeries distribution_series(std::string name, std::vector<double> samples,
                               std::size_t points_max = 300);

}  // namespace foretoken
