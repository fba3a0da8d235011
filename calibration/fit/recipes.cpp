#include "calibration/fit/recipes.hpp"

#include <algorithm>

#include "calibration/datasets/family_table.hpp"
#include "sim/base/embedded.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {

std::span<const EmbeddedFile> embedded_recipes();

namespace {

bool is_recipe_name(std::string_view name) {
  return name == neusight_recipe || name == paper_recipe ||
         std::ranges::any_of(estimator_families(),
                             [&](const EstimatorFamily* family) { return family->name() == name; });
}

FamilyTraining read_recipe(TableReader& table) {
  FamilyTraining training;
  TrainOptions& network = training.network;
  table.read("widths", network.widths);
  table.read("members", network.members);
  table.read("epochs", network.epochs);
  table.read("patience", network.patience);
  table.read("batch", network.batch);
  table.read("learning_rate", network.learning_rate);
  table.read("weight_decay", network.weight_decay);
  table.read("dropout", network.dropout);
  table.read("batch_norm", network.batch_norm);
  table.read("seed", network.seed);
  table.read("head", network.head);
  std::int64_t rows = 0;
  table.read("rows", rows);
  training.rows.rows_max_per_group = static_cast<std::size_t>(std::max<std::int64_t>(rows, 0));
  table.read("own_data", training.rows.with_own);
  table.read("public_data", training.rows.with_public);
  table.read("without_gpus", training.rows.without_gpus);
  table.read("unseen_error", training.with_unseen_error);
  table.expect("members", network.members > 0, "must be at least 1");
  table.expect("rows", rows >= 0, "must be at least 0 (0: all)");
  table.expect("dropout", network.dropout >= 0 && network.dropout < 1, "must be in [0, 1)");
  table.expect("learning_rate", network.learning_rate > 0, "must be above 0");
  table.expect("batch", network.batch > 1, "must be at least 2");
  table.finish();
  return training;
}

}  // namespace

Recipes::Recipes(const std::string& path) {
  const Value root =
      path.empty() ? parse_toml(embedded_recipes().front().text, "recipes.toml") : load_toml(path);
  Diagnostics diagnostics;
  for (const auto& [name, value] : std::get<ValueObject>(root.data)) {
    if (!value.is_object() || !is_recipe_name(name)) {
      diagnostics.add(value.position,
                      fmt::format("'{}' is not a table named after an estimator family", name));
      continue;
    }
    TableReader table(value, diagnostics, name);
    recipes_.emplace(name, read_recipe(table));
  }
  diagnostics.throw_if_any();
}

FamilyTraining Recipes::find(std::string_view name) const {
  const auto found = recipes_.find(name);
  return found == recipes_.end() ? FamilyTraining() : found->second;
}

FamilyTraining Recipes::baseline(std::string_view name, std::string_view family) const {
  FamilyTraining training = find(name);
  const RowChoice data = find(family).rows;
  training.rows.with_own = data.with_own;
  training.rows.with_public = data.with_public;
  training.rows.without_gpus = data.without_gpus;
  return training;
}

}  // namespace foretoken
