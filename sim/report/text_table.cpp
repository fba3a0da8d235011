#include "sim/report/text_table.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr int column_width_min = 6;   // a text column is not cut below "abcde…"
constexpr int short_width_max = 10;   // and one of short words not at all
constexpr int folded_width_min = 20;  // nor folded to less than a few words a line,
constexpr int folded_word_max = 40;   // or than its longest word up to this

/// Columns of a line whose cells are `widths` wide.
int line_width(const std::vector<int>& widths, const TextTable::Layout& layout) {
  const int gaps = layout.gap * std::max(0, static_cast<int>(widths.size()) - 1);
  return layout.indent + gaps + std::accumulate(widths.begin(), widths.end(), 0);
}

void remove_trailing_spaces(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

}  // namespace

void TextTable::check_cells(const Row& cells) const {
  FORETOKEN_CHECK(cells.size() == columns_.size(), "a row of {} cells in a table of {} columns",
                  cells.size(), columns_.size());
}

void TextTable::add_row(std::vector<std::string> cells) {
  check_cells(cells);
  rows_.push_back(std::move(cells));
}

void TextTable::set_total(std::vector<std::string> cells) {
  check_cells(cells);
  total_ = std::move(cells);
}

std::vector<int> TextTable::natural_widths() const {
  std::vector<int> widths;
  for (const TextColumn& column : columns_) {
    widths.push_back(std::max(column.width_min, display_width(column.header)));
  }
  const auto widen = [&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  };
  std::ranges::for_each(rows_, widen);
  if (total_) widen(*total_);
  return widths;
}

int TextTable::folded_least(std::size_t column) const {
  int longest = folded_width_min;
  for (const Row& row : rows_) {
    std::istringstream words(row[column]);
    for (std::string word; words >> word;) longest = std::max(longest, display_width(word));
  }
  return std::min(longest, folded_word_max);
}

int TextTable::natural_width(const Layout& layout) const {
  return line_width(natural_widths(), layout);
}

std::vector<int> TextTable::fitting_widths(const Layout& layout) const {
  const std::vector<int> natural = natural_widths();
  std::vector<int> widths = natural;
  for (int excess = line_width(widths, layout) - layout.width; excess > 0; --excess) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool is_name = layout.kept && i < *layout.kept;
      const int least = columns_[i].folds               ? folded_least(i)
                        : natural[i] <= short_width_max ? natural[i]
                                                        : column_width_min;
      if (columns_[i].align == Align::right || is_name || widths[i] <= least) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string TextTable::line(const Row& cells, const Columns& shown, const std::vector<int>& widths,
                            const Layout& layout) const {
  Row now = cells, later(cells.size());
  bool goes_on = false;
  for (const std::size_t i : shown) {
    if (!columns_[i].folds) continue;
    const std::string text = folded(cells[i], widths[i], 0);
    const std::size_t end = std::min(text.find('\n'), text.size());
    now[i] = text.substr(0, end);
    if (end == text.size()) continue;
    later[i] = cells[i].substr(std::min(cells[i].find_first_not_of(' ', end), cells[i].size()));
    goes_on = true;
  }
  std::string result(static_cast<std::size_t>(layout.indent), ' ');
  for (const std::size_t i : shown) {
    if (i != shown.front()) result.append(static_cast<std::size_t>(layout.gap), ' ');
    result += padded(fitted(now[i], widths[i]), widths[i], columns_[i].align);
  }
  remove_trailing_spaces(result);
  return fitted(result, layout.width) + '\n' + (goes_on ? line(later, shown, widths, layout) : "");
}

std::string TextTable::lines(const Columns& shown, const std::vector<int>& widths,
                             const Layout& layout) const {
  const Ink ink(layout.colour);
  std::string result;
  if (std::ranges::any_of(shown, [&](std::size_t i) { return !columns_[i].header.empty(); })) {
    Row headers;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      headers.push_back(ink.quiet(fitted(columns_[i].header, widths[i])));
    }
    result += line(headers, shown, widths, layout);
  }
  for (const Row& row : rows_) result += line(row, shown, widths, layout);
  if (total_) {
    std::vector<int> shown_widths;
    for (const std::size_t i : shown) shown_widths.push_back(widths[i]);
    const int rule = std::min(line_width(shown_widths, layout), layout.width) - layout.indent;
    result += std::string(static_cast<std::size_t>(layout.indent), ' ') +
              ink.quiet(repeated("─", rule)) + '\n' + line(*total_, shown, widths, layout);
  }
  return result;
}

std::string TextTable::blocks(std::size_t kept, const Layout& layout) const {
  std::vector<int> widths = natural_widths();
  Columns names(kept);
  std::iota(names.begin(), names.end(), 0U);
  // The repeated columns take half of a line at most.
  const auto names_width = [&] {
    int width = 0;
    for (const std::size_t i : names) width += widths[i] + layout.gap;
    return width;
  };
  while (names_width() > layout.width / 2) {
    const auto widest =
        std::ranges::max_element(widths.begin(), widths.begin() + std::ptrdiff_t(kept));
    if (*widest <= column_width_min) break;
    --*widest;
  }
  for (std::size_t i = kept; i < columns_.size(); ++i) {
    const int room = layout.width - layout.indent - names_width();
    if (columns_[i].folds) widths[i] = std::min(widths[i], std::max(room, column_width_min));
  }
  std::string result;
  for (std::size_t next = kept; next < columns_.size();) {
    Columns shown = names;
    int width = layout.indent + names_width();
    while (next < columns_.size()) {
      // A column without a name belongs to the one before it.
      std::size_t end = next + 1;
      int added = widths[next];
      for (; end < columns_.size() && columns_[end].header.empty(); ++end)
        added += layout.gap + widths[end];
      if (shown.size() > kept && width + added > layout.width) break;
      for (; next < end; ++next) shown.push_back(next);
      width += added + layout.gap;
    }
    result += (result.empty() ? "" : "\n") + lines(shown, widths, layout);
  }
  return result;
}

std::string TextTable::text(const Layout& layout) const {
  const std::vector<int> widths = fitting_widths(layout);
  if (layout.kept && line_width(widths, layout) > layout.width) return blocks(*layout.kept, layout);
  Columns all(columns_.size());
  std::iota(all.begin(), all.end(), 0U);
  return lines(all, widths, layout);
}

}  // namespace foretoken
