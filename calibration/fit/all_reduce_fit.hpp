// What an engine's all-reduce kernels take, fitted to measured calls: a line over the size for each
// range in which the engine keeps to one algorithm, or, where one line is not enough (ranks that
// wait for each other, protocols within the kernel), a few pieces of lines. Which algorithm runs
// where is not fitted: it comes from the engines' sources and stands in the table.
#pragma once

#include <span>
#include <vector>

#include "calibration/evaluate/engine_rows.hpp"

namespace foretoken {

/// `table` with the constants that fit `rows` best (least squares of relative errors). Choices that
/// no row tells stay as they are. Pieces join without a step down, so that more bytes never take
/// less time within an algorithm.
AllReduceChoices fit_all_reduce(const AllReduceChoices& table, std::span<const EngineRow> rows);

}  // namespace foretoken
