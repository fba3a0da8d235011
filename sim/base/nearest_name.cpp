#include "sim/base/nearest_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace foretoken {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row.back();
}

/// "tp" of "tensor_parallel".
bool are_initials(std::string_view name, std::string_view candidate) {
  if (name.size() < 2) return false;
  std::string initials;
  for (std::size_t at = 0; at < candidate.size(); ++at) {
    if (at == 0 || candidate[at - 1] == '_') initials += candidate[at];
  }
  return initials == name;
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  const auto same_beginning = [&](std::string_view candidate) {
    return std::ranges::mismatch(name, candidate).in1 - name.begin();
  };
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    // Who forgot the suffix typed a prefix: "h200" means "h200-sxm" rather than "h20".
    const bool is_prefix = !name.empty() && candidate.starts_with(name);
    const bool is_short_for = is_prefix || are_initials(name, candidate);
    const std::size_t distance = is_short_for ? 0 : edit_distance(name, candidate);
    const bool is_closer_tie = distance == best_distance && !best.empty() &&
                               same_beginning(candidate) > same_beginning(best);
    if (distance < best_distance || is_closer_tie) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string unknown_name_message(std::string_view kind, std::string_view name,
                                 const std::vector<std::string_view>& known) {
  std::string message = fmt::format("unknown {} '{}'", kind, name);
  const std::string_view nearest = nearest_name(name, known);
  if (!nearest.empty()) message += fmt::format("; did you mean '{}'?", nearest);
  return message + fmt::format("{} Known: {}", nearest.empty() ? "." : "", fmt::join(known, ", "));
}

}  // namespace foretoken
