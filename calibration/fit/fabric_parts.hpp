// The constants of the closed form in groups that a fit takes one after the other: which rows tell
// them, which numbers they are, and from where to look for them. Another protocol is another part.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "calibration/evaluate/comm_rows.hpp"
#include "hardware/comm_parameters.hpp"

namespace foretoken {

/// A number that a search walks over: microseconds, or a share.
class Knob {
 public:
  Knob(Seconds& time) : time_(&time) {}
  Knob(double& share) : share_(&share) {}
  [[nodiscard]] double value() const { return time_ != nullptr ? time_->value() * 1e6 : *share_; }
  void set(double value) const {
    if (time_ != nullptr) {
      *time_ = Seconds(value / 1e6);
    } else {
      *share_ = std::min(1.0, value);
    }
  }

 private:
  Seconds* time_ = nullptr;
  double* share_ = nullptr;
};

using Knobs = std::vector<Knob>;
using CommRows = std::vector<const CommRow*>;

/// `number` (of microseconds, or a share) as written into a spec: more digits than three no
/// measurement tells, and a step of a nanosecond is none.
double three_digits(double number);

/// Constants that some rows tell apart from all others. Parts are fitted one after the other, so a
/// later one may price what it shares with an earlier one (large messages of a framework are
/// NCCL's).
struct FitPart {
  bool (*tells)(const CommPoint& point);
  /// One number of ranks does not tell a rank's own part from the share: then it stays as known.
  Knobs (*knobs)(CommParameters& parameters, bool has_ranks);
  std::vector<CommParameters> (*starts)(const CommParameters& known, const CommRows& rows);
};

std::span<const FitPart> fit_parts();

}  // namespace foretoken
