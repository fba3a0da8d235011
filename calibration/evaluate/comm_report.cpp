#include "calibration/evaluate/comm_report.hpp"

#include <fmt/format.h>

#include <array>

namespace foretoken {
namespace {

const std::string all = "all";
constexpr double kib = 1024, mib = 1024 * kib;

struct Band {
  std::string_view name;
  double bytes_below;
};
constexpr auto bands = std::to_array<Band>({{"< 64 KiB", 64 * kib},
                                            {"64 KiB to 1 MiB", mib},
                                            {"1 to 16 MiB", 16 * mib + 1},
                                            {"> 16 MiB", 1e30}});

/// Bands summed up: what is asked of predictions differs there.
constexpr std::string_view small = "all < 1 MiB", large = "all >= 1 MiB";

/// Bands in their order, sums last.
std::size_t rank_of(std::string_view band) {
  std::size_t rank = 0;
  while (rank < bands.size() && bands[rank].name != band) ++rank;
  if (band == small) return bands.size();
  if (band == large) return bands.size() + 1;
  return band == all ? bands.size() + 2 : rank;
}

Value score_value(const Score& score) {
  return ValueObject{
      {"mape", score.mape}, {"median", score.median}, {"p90", score.p90}, {"bias", score.bias}};
}

}  // namespace

std::string_view size_band(double bytes) {
  for (const Band& band : bands)
    if (bytes < band.bytes_below) return band.name;
  return bands.back().name;
}

void CommReport::add(const Line& line, double forest, double closed_form, double measured) {
  const bool is_small = line.band == bands[0].name || line.band == bands[1].name;
  Line of_gpu = line, of_band = line, of_half = line, of_gpu_half = line, total = line;
  of_gpu.band = all;
  of_half.gpu = all;
  of_half.band = of_gpu_half.band = is_small ? small : large;
  of_band.gpu = all;
  total.gpu = total.band = all;
  all_.add(forest, measured);
  for (const Line& key : {line, of_gpu, of_band, of_half, of_gpu_half, total}) {
    Boards& boards = lines_[key];
    boards.forest.add(forest, measured);
    boards.closed_form.add(closed_form, measured);
  }
}

std::string CommReport::text() const {
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::size_t>,
           std::pair<const Line*, const Boards*>>
      ordered;
  for (const auto& [line, boards] : lines_)
    ordered[{line.split, line.library, line.operation, line.gpu, rank_of(line.band)}] = {&line,
                                                                                         &boards};
  std::string text = fmt::format(
      "{:<22} {:<14} {:<15} {:<9} {:<15} {:>5} {:>7} {:>6} {:>6} {:>9}"
      " {:>6} {:>6}\n",
      "split", "library", "operation", "GPU", "size", "rows", "forest%", "p90", "bias", "formula%",
      "p90", "bias");
  for (const auto& [key, entry] : ordered) {
    const auto& [line, boards] = entry;
    const Score forest = boards->forest.score(), formula = boards->closed_form.score();
    text += fmt::format(
        "{:<22} {:<14} {:<15} {:<9} {:<15} {:>5} {:>7.1f} {:>6.1f} {:>6.1f} "
        "{:>9.1f} {:>6.1f} {:>6.1f}\n",
        line->split, line->library, line->operation, line->gpu, line->band, forest.rows,
        100 * forest.median, 100 * forest.p90, 100 * forest.bias, 100 * formula.median,
        100 * formula.p90, 100 * formula.bias);
  }
  text += "forest% and formula% are medians of |predicted - measured| / measured\n";
  for (const auto& [split, count] : unpriced_)
    text += fmt::format("{}: {} rows without a price are excluded\n", split, count);
  return text;
}

Value CommReport::json() const {
  ValueArray lines;
  for (const auto& [line, boards] : lines_) {
    lines.emplace_back(ValueObject{{"split", line.split},
                                   {"library", line.library},
                                   {"operation", line.operation},
                                   {"gpu", line.gpu},
                                   {"size", line.band},
                                   {"rows", static_cast<std::int64_t>(boards.forest.score().rows)},
                                   {"forest", score_value(boards.forest.score())},
                                   {"formula", score_value(boards.closed_form.score())}});
  }
  return ValueObject{{"lines", std::move(lines)}};
}

Score CommReport::forest(const Line& line) const {
  const auto found = lines_.find(line);
  return found == lines_.end() ? Score() : found->second.forest.score();
}

Score CommReport::closed_form(const Line& line) const {
  const auto found = lines_.find(line);
  return found == lines_.end() ? Score() : found->second.closed_form.score();
}

}  // namespace foretoken
