// Rows of measured curves that contradict both of their neighbours: a product of m rows that took
// far longer, or far less, than the next smaller and the next larger m of the same weights on the
// same GPU by the same kernel. More rows are never less work, so that one of three is wrong, and
// two agree. A network takes such a row for a jump (one of 257 us between 95 and 125 became a
// fivefold one): training leaves them out. They still judge.
#pragma once

#include <string>
#include <vector>

#include "calibration/datasets/dataset.hpp"

namespace foretoken {

struct DoubtedRow {
  std::size_t sample = 0;  // index into Dataset::samples
  Seconds before, after;   // of the next smaller and the next larger m
  std::int64_t m_before = 0, m_after = 0;
};

/// Sets Sample::is_doubted of those rows and lists them in the order of the samples. Dearer ones
/// are looked for until none is left, then cheaper ones: a dear row makes its sound neighbours look
/// cheap.
std::vector<DoubtedRow> doubt_rows(Dataset& dataset);

}  // namespace foretoken
