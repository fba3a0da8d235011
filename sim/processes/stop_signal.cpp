#include "sim/processes/stop_signal.hpp"

#include <array>
#include <csignal>
#include <mutex>

namespace foretoken {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

void on_stop(int) { asked_to_stop = 1; }

constexpr std::array stop_signals = {SIGINT, SIGTERM};

/// Who caught the signals before, to be given them back when the last of us is gone: several may
/// live at once, in threads of one program.
struct Caught {
  std::mutex mutex;
  int holders = 0;
  std::array<struct sigaction, stop_signals.size()> before = {};
};

Caught& caught() {
  static Caught signals;
  return signals;
}

}  // namespace

StopSignal::StopSignal() {
  Caught& signals = caught();
  const std::lock_guard lock(signals.mutex);
  if (signals.holders++ > 0) return;
  asked_to_stop = 0;
  struct sigaction action = {};
  action.sa_handler = on_stop;  // without SA_RESTART: poll() has to come back
  for (std::size_t i = 0; i < stop_signals.size(); ++i) {
    sigaction(stop_signals[i], &action, &signals.before[i]);
  }
}

StopSignal::~StopSignal() {
  Caught& signals = caught();
  const std::lock_guard lock(signals.mutex);
  if (--signals.holders > 0) return;
  for (std::size_t i = 0; i < stop_signals.size(); ++i) {
    sigaction(stop_signals[i], &signals.before[i], nullptr);
  }
}

bool StopSignal::asked() { return asked_to_stop != 0; }

}  // namespace foretoken
