#include "calibration/evaluate/stream_k_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/evaluate/tile_report.hpp"
#include "kernels/tiles/pipelined_tile.hpp"
#include "kernels/tiles/stream_k.hpp"

namespace foretoken {
namespace {

constexpr double visible = 0.02;  // a difference that is no noise

/// What somebody's choice came to in one case.
struct Outcome {
  double ratio = 1, over_best = 1;
  bool is_cut = false;
  double error = 0;  // log, of the predicted ratio; where it is cut
};

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

class Judge {
 public:
  explicit Judge(const StreamKTimes& file)
      : machine_(tile_machine(load_gpu(file.gpu, {}), file.dtype)),
        model_(make_tile_model("foretoken_2026", {})) {}

  /// In the order of the table.
  [[nodiscard]] std::vector<std::pair<std::string, Outcome>> outcomes(
      const StreamKCase& one) const {
    std::vector<std::pair<std::string, Outcome>> all;
    for (const std::string_view name : EnumNames<GridPolicy>::names) {
      const std::int64_t asked =
          stream_k_grid(*parse_enum<GridPolicy>(name), *model_, one.product, one.tile, machine_);
      all.emplace_back(name, of_grid(one, one.nearest(asked)));
    }
    all.emplace_back("(best grid measured)", of_grid(one, one.best()));
    Seconds least = one.plain, selected = one.plain;
    const int asked = model_->prepared(one.product, one.tile, machine_).split_k;
    for (const StreamKCase::Split& split : one.splits) {
      least = std::min(least, split.time);
      if (split.parts == asked) selected = split.time;
    }
    all.emplace_back("(plain kernel)", of_time(one, one.plain));
    all.emplace_back("(plain, split as selected)", of_time(one, selected));
    all.emplace_back("(plain, best split measured)", of_time(one, least));
    return all;
  }

 private:
  [[nodiscard]] Outcome of_grid(const StreamKCase& one, const StreamKTime& grid) const {
    Outcome out = of_time(one, grid.time);
    out.is_cut = grid.grid != one.tiles();
    if (!out.is_cut) return out;
    const auto cycles = [&](std::int64_t ctas) {
      return stream_k_cycles(one.product, one.tile, ctas, machine_, embedded_tile_constants());
    };
    out.error = std::log(cycles(grid.grid) / cycles(one.tiles()) / out.ratio);
    return out;
  }

  static Outcome of_time(const StreamKCase& one, Seconds time) {
    return {.ratio = time / one.whole(), .over_best = time / one.best().time};
  }

  TileMachine machine_;
  std::unique_ptr<TileModel> model_;
};

/// Whether cutting the depth by a second kernel is visibly faster than the plain kernel.
bool is_won_by_split(const std::vector<std::pair<std::string, Outcome>>& outcomes) {
  const auto ratio = [&](std::string_view who) {
    return std::ranges::find(outcomes, who, &std::pair<std::string, Outcome>::first)->second.ratio;
  };
  return ratio("(plain, best split measured)") <= (1 - visible) * ratio("(plain kernel)");
}

StreamKReport::Line summary(const std::string& who, const std::string& half,
                            const std::vector<Outcome>& outcomes) {
  StreamKReport::Line line{.who = who, .half = half, .cases = outcomes.size()};
  const auto count = static_cast<double>(outcomes.size());
  std::vector<double> ratios, errors, sizes;
  for (const Outcome& one : outcomes) {
    ratios.push_back(one.ratio);
    line.cut += one.is_cut / count;
    line.mean += std::log(one.ratio) / count;
    line.over_best += std::log(one.over_best) / count;
    line.wins += (one.ratio <= 1 - visible) / count;
    line.loses += (one.ratio >= 1 + visible) / count;
    if (!one.is_cut) continue;
    errors.push_back(one.error);
    sizes.push_back(std::abs(one.error));
  }
  line.median = median_of(std::move(ratios));
  line.mean = std::exp(line.mean);
  line.over_best = std::exp(line.over_best);
  if (errors.empty()) return line;
  line.error = std::exp(median_of(std::move(sizes))) - 1;
  line.bias = std::exp(median_of(std::move(errors))) - 1;
  return line;
}

}  // namespace

StreamKReport::StreamKReport(const std::vector<StreamKTimes>& files) {
  std::vector<std::string> order;
  std::map<std::pair<std::string, std::string>, std::vector<Outcome>> groups;
  for (const StreamKTimes& file : files) {
    const Judge judge(file);
    machines_ += fmt::format("{}{} ({})", machines_.empty() ? "" : ", ", file.gpu, file.file);
    cases_ += file.cases.size();
    for (const StreamKCase& one : file.cases) {
      times_ += 1 + one.splits.size() + one.grids.size();
      const auto outcomes = judge.outcomes(one);
      const bool is_split = is_won_by_split(outcomes);
      for (const auto& [who, outcome] : outcomes) {
        if (std::ranges::find(order, who) == order.end()) order.push_back(who);
        groups[{who, "all"}].push_back(outcome);
        if (is_fitted_shape(one.product)) continue;
        groups[{who, "judged"}].push_back(outcome);
        if (is_split) groups[{who, "split"}].push_back(outcome);
      }
    }
  }
  for (const char* const half : {"all", "judged", "split"}) {
    for (const std::string& who : order) {
      const auto group = groups.find({who, half});
      if (group != groups.end()) lines_.push_back(summary(who, half, group->second));
    }
  }
}

const StreamKReport::Line* StreamKReport::find(std::string_view who, std::string_view half) const {
  const auto found = std::ranges::find_if(
      lines_, [&](const Line& line) { return line.who == who && line.half == half; });
  return found == lines_.end() ? nullptr : &*found;
}

std::string StreamKReport::text() const {
  if (lines_.empty()) return "";
  std::string out = fmt::format(
      "\n"
      "Stream-K grids of {} GEMMs with a tile whose last wave leaves a fifth of the units idle or "
      "more, {} times; {}\n"
      "{:28} {:6} {:>5} {:>5} | {:>6} {:>6} {:>5} {:>5} | {:>9} | {:>6} {:>6}\n",
      cases_, times_, machines_, "policy", "half", "cases", "cut", "median", "mean", "wins",
      "loses", "over best", "error", "bias");
  for (const Line& line : lines_) {
    out += fmt::format("{:28} {:6} {:>5} {:5.0f} | {:6.3f} {:6.3f} {:5.0f} {:5.0f} | {:9.3f} |",
                       line.who, line.half, line.cases, 100 * line.cut, line.median, line.mean,
                       100 * line.wins, 100 * line.loses, line.over_best);
    if (line.cut > 0) {
      out += fmt::format(" {:6.1f} {:+6.1f}", 100 * line.error, 100 * line.bias);
    }
    out += '\n';
  }
  return out +
         "Median and geometric mean of times over those of the same kernel with one CTA per tile; "
         "cut, wins, loses: % of cases in\n"
         "which a policy chooses another grid, is 2 % faster, 2 % slower; error, bias: of the "
         "predicted ratio where it is cut, %; split: judged cases in\n"
         "which the plain kernel is 2 % faster with split-K.\n";
}

Value StreamKReport::json() const {
  ValueArray rows;
  for (const Line& line : lines_) {
    rows.emplace_back(ValueObject{{"policy", line.who},
                                  {"half", line.half},
                                  {"cases", static_cast<std::int64_t>(line.cases)},
                                  {"cut", line.cut},
                                  {"median", line.median},
                                  {"mean", line.mean},
                                  {"wins", line.wins},
                                  {"loses", line.loses},
                                  {"over_best", line.over_best},
                                  {"error", line.error},
                                  {"bias", line.bias}});
  }
  return rows;
}

}  // namespace foretoken
