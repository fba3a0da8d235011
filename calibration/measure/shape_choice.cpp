// Orders shapes for measuring.
#include "shape_choice.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <set>
#include <stdexcept>

#include "calibration/selection/launch_choice.hpp"

namespace foretoken::measure {
namespace {

/// Coordinates in units of their standard deviation, so that all sizes count alike.
std::vector<std::vector<float>> standardised(const std::vector<Case>& cases) {
  std::vector<std::vector<float>> points(cases.size());
  const auto count = static_cast<double>(cases.size());
  for (std::size_t i = 0; i < cases[0].coordinates.size(); ++i) {
    double sum = 0, squares = 0;
    for (const Case& one : cases) {
      sum += one.coordinates[i];
      squares += one.coordinates[i] * one.coordinates[i];
    }
    const double mean = sum / count, variance = squares / count - mean * mean;
    const double scale = variance > 1e-9 ? 1 / std::sqrt(variance) : 0;
    for (std::size_t j = 0; j < cases.size(); ++j)
      points[j].push_back(static_cast<float>((cases[j].coordinates[i] - mean) * scale));
  }
  return points;
}

std::string joined(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + field;
  return line;
}

}  // namespace

std::vector<Case> shuffled(std::vector<Case> cases, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = cases.size(); i > 1; --i) std::swap(cases[i - 1], cases[random() % i]);
  return cases;
}

std::vector<std::vector<const Case*>> cool_first(const std::vector<const Case*>& cases,
                                                 std::size_t size) {
  std::vector<std::vector<const Case*>> batches;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i % size == 0) batches.emplace_back();
    batches.back().push_back(cases[i]);
  }
  for (auto& batch : batches)
    std::stable_sort(batch.begin(), batch.end(),
                     [](const Case* a, const Case* b) { return a->heat < b->heat; });
  return batches;
}

std::vector<Case> few(std::vector<Case> cases, int count) {
  if (cases.empty()) return cases;
  cases = shuffled(std::move(cases), 1);  // candidates are thinned evenly, shapes stand in order
  std::vector<Case> chosen;
  for (const std::size_t index :
       choose_launches(standardised(cases), static_cast<std::size_t>(count)))
    chosen.push_back(cases[index]);
  return chosen;
}

std::vector<Case> listed(std::vector<Case> cases, const std::vector<std::string>& columns,
                         const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  std::set<std::string> rows;
  std::string line;
  bool has_header = false;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (!has_header && line != joined(columns))
      throw std::runtime_error(path + ": its columns must be " + joined(columns));
    if (has_header) rows.insert(line);
    has_header = true;
  }
  std::erase_if(cases, [&](const Case& one) { return rows.count(joined(one.fields)) == 0; });
  if (cases.empty()) throw std::runtime_error(path + ": lists no shape of this family");
  return cases;
}

}  // namespace foretoken::measure
