// A small table in aligned columns for the terminal: what `step`, `gpu list`, `model list` and
// `list` print, and what the report's own tables are made of. Quiet by intent: no frames, a header
// only where columns have names, a rule only above a total. Nothing it returns is wider than asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/terminal_text.hpp"

namespace foretoken {

struct TextColumn {
  std::string header = {};  // the header line is left out when no column has one
  Align align = Align::left;
  int width_min = 0;
  bool folds = false;  // a longer text takes several lines instead of being cut
};

class TextTable {
 public:
  struct Layout {
    int width = 100;  // of a whole line, indent included
    int indent = 2;
    int gap = 2;  // between columns
    bool colour = false;
    /// Of a table that does not fit: so many columns stand again in front of those that follow
    /// below. Without, lines are cut.
    std::optional<std::size_t> kept = std::nullopt;
  };

  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  /// One cell a column; cells may hold UTF-8 and the escapes of Ink, but no line break.
  void add_row(std::vector<std::string> cells);
  /// The last line, under a rule.
  void set_total(std::vector<std::string> cells);

  /// Columns the table takes at its natural size, with indent.
  [[nodiscard]] int natural_width(const Layout& layout) const;

  /// The lines, each ended with '\n', without trailing spaces. A table that is too wide has its
  /// widest left-aligned columns folded, or cut with "…", first (numbers are what one came for); if
  /// that is not enough it goes on in further blocks below (`kept`, whose columns are names and are
  /// never cut), or whole lines are cut.
  [[nodiscard]] std::string text(const Layout& layout) const;

 private:
  using Row = std::vector<std::string>;
  [[nodiscard]] std::vector<int> natural_widths() const;
  /// The least width of a column that folds: no word of it is cut.
  [[nodiscard]] int folded_least(std::size_t column) const;
  [[nodiscard]] std::vector<int> fitting_widths(const Layout& layout) const;
  /// Columns by their indices.
  using Columns = std::vector<std::size_t>;
  [[nodiscard]] std::string line(const Row& cells, const Columns& shown,
                                 const std::vector<int>& widths, const Layout& layout) const;
  [[nodiscard]] std::string lines(const Columns& shown, const std::vector<int>& widths,
                                  const Layout& layout) const;
  [[nodiscard]] std::string blocks(std::size_t kept, const Layout& layout) const;
  void check_cells(const Row& cells) const;

  std::vector<TextColumn> columns_;
  std::vector<Row> rows_;
  std::optional<Row> total_;
};

}  // namespace foretoken
