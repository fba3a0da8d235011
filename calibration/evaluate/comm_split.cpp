#include "calibration/evaluate/comm_split.hpp"

#include <cmath>
#include <functional>
#include <set>

namespace foretoken {
namespace {

using IsJudged = std::function<bool(const CommRow&)>;

CommFold fold_of(std::string name, const std::vector<CommRow>& rows, const IsJudged& is_judged) {
  CommFold fold;
  fold.name = std::move(name);
  for (const CommRow& row : rows) {
    if (!only_judges(row)) (is_judged(row) ? fold.judged : fold.training).push_back(row);
  }
  return fold;
}

}  // namespace

bool is_held_out_size(double bytes) {
  constexpr long octaves = 3;  // 1 KiB, 8 KiB, 64 KiB … 512 MiB are kept
  return std::lround(std::log2(bytes)) % octaves == 2;
}

std::vector<CommFold> comm_folds(const std::vector<CommRow>& rows, CommSplit split) {
  constexpr int ranks_judged = 8, ranks_of_two_nodes = 16;
  std::vector<CommFold> folds;
  switch (split) {
    case CommSplit::sizes:
      folds.push_back(fold_of("sizes left out", rows, [](const CommRow& row) {
        return is_held_out_size(row.point.bytes);
      }));
      break;
    case CommSplit::ranks:
      folds.push_back(fold_of("8 GPUs from 2 and 4", rows, [](const CommRow& row) {
        return row.point.nodes == 1 && row.point.ranks == ranks_judged;
      }));
      break;
    case CommSplit::nodes:
      folds.push_back(fold_of("16 ranks on 2 nodes", rows, [](const CommRow& row) {
        return row.point.nodes == 2 && row.point.ranks == ranks_of_two_nodes;
      }));
      break;
    case CommSplit::gpu: {
      std::set<std::string> gpus;
      for (const CommRow& row : rows) gpus.insert(row.gpu);
      for (const std::string& gpu : gpus) {
        folds.push_back(
            fold_of(gpu + " left out", rows, [&](const CommRow& row) { return row.gpu == gpu; }));
        folds.back().is_new_gpu = true;
      }
      break;
    }
  }
  std::erase_if(folds,
                [](const CommFold& fold) { return fold.training.empty() || fold.judged.empty(); });
  return folds;
}

}  // namespace foretoken
