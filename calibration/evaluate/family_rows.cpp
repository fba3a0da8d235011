#include "calibration/evaluate/family_rows.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

bool names(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

/// A fixed shuffle of rows, the same whatever other rows there are.
std::uint64_t row_hash(const FamilyTable& table, std::size_t row) {
  Fingerprint hash;
  for (const float value : table.input(row)) hash.add(static_cast<double>(value));
  return hash.value();
}

Rows capped(const FamilyTable& table, const Rows& rows, std::size_t rows_max) {
  std::map<std::pair<int, int>, Rows> groups;
  for (const std::size_t row : rows) {
    groups[{table.rows[row].gpu, table.rows[row].source}].push_back(row);
  }
  Rows chosen;
  for (const auto& [key, group] : groups) {
    std::ranges::copy(picked(table, group, rows_max), std::back_inserter(chosen));
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace

FamilyTable wanted(const FamilyTable& table, const RowChoice& choice) {
  Rows rows;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.rows[row].is_own ? choice.with_own : choice.with_public) rows.push_back(row);
  }
  return table.subset(rows);
}

Rows training_rows(const FamilyTable& table, const RowChoice& choice) {
  Rows rows;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const FamilyRow& data = table.rows[row];
    if (data.is_doubted) continue;
    if (data.is_held_out && !choice.with_held_out) continue;
    if (!(data.is_own ? choice.with_own : choice.with_public)) continue;
    if (choice.without_model_draw == data.model_draw) continue;
    if (names(choice.without_gpus, table.gpus[static_cast<std::size_t>(data.gpu)])) continue;
    rows.push_back(row);
  }
  return choice.rows_max_per_group == 0 ? rows : capped(table, rows, choice.rows_max_per_group);
}

Rows held_out_rows(const FamilyTable& table, const std::string& gpu) {
  Rows rows;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const FamilyRow& data = table.rows[row];
    const bool is_asked = gpu.empty() || table.gpus[static_cast<std::size_t>(data.gpu)] == gpu;
    if (data.is_held_out && is_asked) rows.push_back(row);
  }
  return rows;
}

Rows rows_of_gpus(const FamilyTable& table, const std::vector<std::string>& gpus) {
  Rows rows;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (names(gpus, table.gpus[static_cast<std::size_t>(table.rows[row].gpu)])) rows.push_back(row);
  }
  return rows;
}

Rows thinned(const Rows& rows, std::size_t rows_max) {
  if (rows.size() <= rows_max) return rows;
  Rows kept;
  for (std::size_t i = 0; i < rows_max; ++i) kept.push_back(rows[i * rows.size() / rows_max]);
  return kept;
}

Rows picked(const FamilyTable& table, const Rows& rows, std::size_t count) {
  if (rows.size() <= count) return rows;
  std::vector<std::pair<std::uint64_t, std::size_t>> hashed;
  for (const std::size_t row : rows) hashed.emplace_back(row_hash(table, row), row);
  std::ranges::sort(hashed);
  Rows chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(hashed[i].second);
  std::ranges::sort(chosen);
  return chosen;
}

double predicted_time(const FamilyTable& table, std::size_t row, const Artifact& artifact) {
  const FamilyRow& data = table.rows[row];
  const GpuSpec& gpu = table.specs[static_cast<std::size_t>(data.gpu)];
  const double ratio = log_ratio(artifact.head, artifact.ensemble, table.input(row));
  return data.first_order * std::exp(artifact.network_share(gpu) * ratio) + data.cold_extra;
}

double coverage(const FamilyTable& table, const Rows& rows, const Artifact& ceiling) {
  const auto below = std::ranges::count_if(rows, [&](std::size_t row) {
    return table.rows[row].measured >= predicted_time(table, row, ceiling);
  });
  return rows.empty() ? 0 : static_cast<double>(below) / static_cast<double>(rows.size());
}

Score score_rows(const FamilyTable& table, const Rows& rows, const Artifact& artifact) {
  ScoreBoard board;
  for (const std::size_t row : rows) {
    board.add(predicted_time(table, row, artifact), table.rows[row].measured);
  }
  return board.score();
}

}  // namespace foretoken
