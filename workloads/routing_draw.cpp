#include "workloads/routing_draw.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "sim/base/named_path.hpp"
#include "sim/base/quantiles.hpp"
#include "workloads/histogram_file.hpp"

namespace foretoken {
namespace {

constexpr std::string_view balancedness_prefix = "balancedness:";
constexpr std::string_view histograms_prefix = "histograms:";
constexpr std::string_view deviation_mark = "+-";
constexpr int quantiles = 32;
constexpr double balancedness_min = 0.01;

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<Routing> drawn_balancedness(double mean, double deviation) {
  std::vector<Routing> each;
  for (int i = 0; i < quantiles; ++i) {
    const double drawn = normal_quantile((i + 0.5) / quantiles, mean, deviation);
    each.push_back({Routing::Kind::balancedness, std::clamp(drawn, balancedness_min, 1.0), {}});
  }
  return each;
}

std::vector<Routing> read_histograms(const std::filesystem::path& path, int experts,
                                     const SourcePosition& position) {
  std::vector<Routing> each;
  for (HistogramLines& lines : read_histogram_file(path, position)) {
    std::vector<std::int64_t>& counts = lines.counts;
    const auto wanted = experts > 0 ? static_cast<std::size_t>(experts)
                                    : (each.empty() ? counts.size() : each[0].counts.size());
    if (counts.size() != wanted) {
      throw ConfigError(
          lines.position,
          fmt::format(
              "holds {} counts; the model has {} experts{}", counts.size(), wanted,
              lines.ends ? "" : "; this last line is not terminated, so the file may be cut off"));
    }
    if (std::ranges::all_of(counts, [](std::int64_t count) { return count == 0; })) {
      throw ConfigError(lines.position, "holds no assignment at all");
    }
    each.push_back({Routing::Kind::histogram, 0, std::move(counts)});
  }
  if (each.empty()) throw ConfigError({path.string()}, "holds no histogram: write one per line");
  return each;
}

}  // namespace

bool is_routing_draw(std::string_view text) {
  return text.starts_with(histograms_prefix) ||
         (text.starts_with(balancedness_prefix) &&
          text.find(deviation_mark) != std::string_view::npos);
}

RoutingDraw parse_routing_draw(std::string_view text, int experts,
                               const std::filesystem::path& base_folder,
                               const SourcePosition& position) {
  RoutingDraw draw;
  if (text.starts_with(histograms_prefix)) {
    const std::filesystem::path path =
        named_path(text.substr(histograms_prefix.size()), position, base_folder);
    draw.text = fmt::format("{}{}", histograms_prefix,
                            std::filesystem::absolute(path).lexically_normal().string());
    draw.each = read_histograms(path, experts, position);
    return draw;
  }
  const std::string_view numbers = text.substr(balancedness_prefix.size());
  const std::size_t mark = numbers.find(deviation_mark);
  const auto mean = parse_number(numbers.substr(0, mark));
  const auto deviation = parse_number(numbers.substr(mark + deviation_mark.size()));
  const auto is_share = [](const std::optional<double>& number) {
    return number && *number > 0 && *number <= 1;  // "nan" reads as a number, and is neither
  };
  if (!is_share(mean) || !is_share(deviation)) {
    throw ConfigError(position, fmt::format("routing '{}': mean and deviation of the balancedness "
                                            "must be above 0 and at most 1, for example "
                                            "\"balancedness:0.55+-0.06\"",
                                            text));
  }
  draw.text = text;
  draw.each = drawn_balancedness(*mean, *deviation);
  return draw;
}

Routing typical_routing(const RoutingDraw& draw) {
  FORETOKEN_CHECK(!draw.each.empty(), "nothing to draw from");
  if (draw.each.front().kind == Routing::Kind::balancedness) {
    double sum = 0;
    for (const Routing& routing : draw.each) sum += routing.parameter;
    return {Routing::Kind::balancedness, sum / static_cast<double>(draw.each.size()), {}};
  }
  Routing sum = draw.each.front();
  for (std::size_t i = 1; i < draw.each.size(); ++i) {
    for (std::size_t expert = 0; expert < sum.counts.size(); ++expert) {
      sum.counts[expert] += draw.each[i].counts[expert];
    }
  }
  return sum;
}

}  // namespace foretoken
