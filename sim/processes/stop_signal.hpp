// Ctrl-C and SIGTERM as a question that is asked now and then, so that what is finished gets kept
// before the program ends.
#pragma once

namespace foretoken {

/// Catches both signals while it lives; calls that wait come back when one arrives.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] static bool asked();
};

}  // namespace foretoken
