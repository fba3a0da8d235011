// Measured communication as rows that can be priced: what constants are fitted to, forests grown on
// and predictions judged by.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibration/datasets/comm_dataset.hpp"
#include "kernels/communication/measured_communication.hpp"

namespace foretoken {

/// The clusters that GPUs were measured in, each loaded once: by name or, where that is "", the
/// usual chassis with 8 GPUs, as many nodes as any row has.
class MeasuredClusters {
 public:
  const ClusterSpec& find(const std::string& gpu, const std::string& cluster = "");

 private:
  std::map<std::string, ClusterSpec, std::less<>> clusters_;
};

/// Rows of a curve closer than this many to an octave are one row.
inline constexpr double comm_sizes_an_octave = 8;

inline constexpr int deepep_sms_min = 20;  // its default, which serving engines keep

/// A measured call with everything that prices it. Rows of several versions are one point: their
/// geometric mean.
struct CommRow {
  CommPoint point;
  GroupLinks links;  // of its ranks
  Seconds time;
  std::string gpu, cluster;  // as CommSample's
  std::string origin;        // as CommSample's
};

/// What no constant is fitted to, no tree grown on and no split divides: measured once, and small
/// messages scatter.
inline bool only_judges(const CommRow& row) { return row.origin == pipeweave_origin; }

/// The samples as rows, in an order of their own: sizes of a curve that are closer than an eighth
/// of an octave are one row. Only calls whose algorithm the library chose.
std::vector<CommRow> comm_rows(std::span<const CommSample> samples);

}  // namespace foretoken
