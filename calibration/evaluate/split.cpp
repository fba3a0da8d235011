#include "calibration/evaluate/split.hpp"

#include <algorithm>

namespace foretoken {
namespace {

Fold without_gpus(const FamilyTable& table, const std::string& name,
                  const std::vector<std::string>& gpus) {
  Fold fold;
  fold.name = name + " left out";
  fold.training.without_gpus = gpus;
  fold.judged = rows_of_gpus(table, gpus);
  return fold;
}

Fold held_out_layouts(const FamilyTable& table) {
  Fold fold;
  fold.name = "layouts held out";
  fold.judged = held_out_rows(table);
  return fold;
}

Fold held_out_models(const FamilyTable& table, int draw) {
  Fold fold;
  fold.name = fmt::format("models held out, {} of {}", draw + 1, model_draws);
  fold.training.with_held_out = true;
  fold.training.without_model_draw = draw;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.rows[row].model_draw == draw) fold.judged.push_back(row);
  }
  return fold;
}

Fold own_launches(const FamilyTable& table, const RowChoice& learned) {
  Fold fold;
  fold.name = learned.with_own ? "own, layouts held out" : "own, none learned";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const FamilyRow& data = table.rows[row];
    if (data.is_own && (data.is_held_out || !learned.with_own)) fold.judged.push_back(row);
  }
  return fold;
}

void keep_held_out(const FamilyTable& table, Rows& rows) {
  std::erase_if(rows, [&](std::size_t row) { return !table.rows[row].is_held_out; });
}

/// Rows of data that the family does not learn from judge nothing but the split own.
void keep_learned(const FamilyTable& table, const RowChoice& learned, Rows& rows) {
  std::erase_if(rows, [&](std::size_t row) {
    return !(table.rows[row].is_own ? learned.with_own : learned.with_public);
  });
}

}  // namespace

const std::vector<std::string> main_gpus = {"a100-sxm", "h100-sxm", "h200-sxm",
                                            "b200-sxm", "l40s",     "rtx-4090"};

Fold steps_fold() {
  Fold fold;
  fold.name = "rtx-4090 left out";
  fold.training.without_gpus = {"rtx-4090"};
  return fold;
}

std::vector<Fold> folds_of(const FamilyTable& table, Split split, const RowChoice& learned,
                           const std::vector<std::string>& gpus) {
  std::vector<Fold> folds;
  switch (split) {
    case Split::seen:
      folds.push_back(held_out_layouts(table));
      break;
    case Split::gpu:
    case Split::few:
    case Split::sibling:
      for (const std::string& gpu : gpus) {
        // One that the family never learns from (its rows hold more than the kernel) judges
        // nothing.
        if (std::ranges::find(learned.without_gpus, gpu) != learned.without_gpus.end()) continue;
        folds.push_back(without_gpus(table, gpu, {gpu}));
        if (split == Split::sibling) keep_held_out(table, folds.back().judged);
      }
      break;
    case Split::hopper:
      folds.push_back(without_gpus(table, "hopper", {"h100-sxm", "h200-sxm"}));
      break;
    case Split::model:
      for (int draw = 0; draw < model_draws; ++draw) folds.push_back(held_out_models(table, draw));
      break;
    case Split::own:
      folds.push_back(own_launches(table, learned));
      break;
    case Split::steps:
      break;
  }
  if (split != Split::own) {
    for (Fold& fold : folds) keep_learned(table, learned, fold.judged);
  }
  std::erase_if(folds, [](const Fold& fold) { return fold.judged.empty(); });
  return folds;
}

}  // namespace foretoken
