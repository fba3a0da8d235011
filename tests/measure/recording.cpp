#include "tests/measure/recording.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

namespace foretoken::recorded {
namespace {

constexpr std::string_view joint = " + ";

std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"')
      is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

std::vector<std::string> parts_of(std::string text) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; (end = text.find(joint)) != std::string::npos;) {
    parts.push_back(text.substr(0, end));
    text.erase(0, end + joint.size());
  }
  parts.push_back(text);
  return parts;
}

std::string joined_key(std::initializer_list<std::string> parts) {
  std::string key;
  for (const std::string& each : parts) key += each + "|";
  return key;
}

}  // namespace

std::string plain_name(std::string name) {
  static const std::string anonymous = "(anonymous namespace)::";
  for (std::size_t at = 0; (at = name.find(anonymous)) != std::string::npos;)
    name.erase(at, anonymous.size());
  return name.substr(0, name.find('('));
}

const std::string& Row::text(const std::string& column) const {
  static const std::string nothing;
  const auto found = fields.find(column);
  return found == fields.end() ? nothing : found->second;
}

double Row::number(const std::string& column) const {
  const std::string& field = text(column);
  return field.empty() ? 0 : std::stod(field);
}

std::string Row::part(const std::string& column, std::size_t index) const {
  const std::vector<std::string> parts = parts_of(text(column));
  const std::size_t missing = parts_of(text("kernel_name")).size() - parts.size();
  return index < missing ? "" : parts.at(index - missing);
}

std::size_t Row::kernels() const {
  return text("kernel_name").empty() ? 0 : parts_of(text("kernel_name")).size();
}

const Recording& Recording::get() {
  static const Recording recording = [] {
    const char* const folder = std::getenv("FORETOKEN_RECORDED");
    if (folder == nullptr) throw std::runtime_error("FORETOKEN_RECORDED names no folder");
    return Recording(folder);
  }();
  return recording;
}

Recording::Recording(const std::string& folder) {
  std::set<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".csv") paths.insert(entry.path());
  for (const std::string& path : paths) read(path);
}

void Recording::read(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> columns;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# ")) {
      const std::size_t colon = line.find(": ");
      said_.try_emplace(line.substr(2, colon - 2), line.substr(colon + 2));
      continue;
    }
    const std::vector<std::string> fields = csv_fields(line);
    if (columns.empty()) {
      columns = fields;
      continue;
    }
    if (fields.size() != columns.size()) throw std::runtime_error(path + ": a row is not whole");
    auto row = std::make_unique<Row>();
    for (std::size_t i = 0; i < fields.size(); ++i) row->fields[columns[i]] = fields[i];
    index(*row);
    rows_.push_back(std::move(row));
  }
}

void Recording::index(const Row& row) {
  if (row.text("pass") != "0") return;
  if (row.text("kernel") == "gemm") {
    const std::string fast = row.text("fast_accumulation");
    calls_.try_emplace(joined_key({row.text("m"), row.text("n"), row.text("k"), row.text("dtype"),
                                   fast.empty() ? "1" : fast}),
                       &row);
  }
  if (!row.text("operation").empty())
    calls_.try_emplace(joined_key({row.text("operation"), row.text("algorithm"), row.text("launch"),
                                   row.text("ranks"), row.text("bytes")}),
                       &row);
  const std::size_t count = row.kernels();
  for (std::size_t i = 0; i < count; ++i)
    kernels_.try_emplace(joined_key({plain_name(row.part("kernel_name", i)), row.part("grid", i),
                                     row.part("block", i)}),
                         Piece{&row, i, count});
}

std::string Recording::said(const std::string& key, const std::string& otherwise) const {
  const auto found = said_.find(key);
  return found == said_.end() ? otherwise : found->second;
}

double Recording::said_number(const std::string& key, double otherwise) const {
  const std::string text = said(key, "");
  return text.empty() ? otherwise : std::stod(text);
}

const Piece* Recording::kernel(const std::string& name, const std::string& grid,
                               const std::string& block) const {
  const auto found = kernels_.find(joined_key({plain_name(name), grid, block}));
  return found == kernels_.end() ? nullptr : &found->second;
}

const Row* Recording::product(std::int64_t m, std::int64_t n, std::int64_t k,
                              const std::string& dtype, bool fast_accumulation) const {
  const auto found =
      calls_.find(joined_key({std::to_string(m), std::to_string(n), std::to_string(k), dtype,
                              fast_accumulation ? "1" : "0"}));
  return found == calls_.end() ? nullptr : found->second;
}

const Row* Recording::collective(const std::string& operation, const std::string& algorithm,
                                 const std::string& launch, int ranks, std::size_t bytes) const {
  const auto found = calls_.find(
      joined_key({operation, algorithm, launch, std::to_string(ranks), std::to_string(bytes)}));
  return found == calls_.end() ? nullptr : found->second;
}

}  // namespace foretoken::recorded
