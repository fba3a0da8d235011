#include "sim/app/stop_signal.hpp"

#include <csignal>

namespace foretoken {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

void on_stop(int) { asked_to_stop = 1; }

void catch_stops(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;  // without SA_RESTART: poll() has to come back
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  asked_to_stop = 0;
  catch_stops(on_stop);
}

StopSignal::~StopSignal() { catch_stops(SIG_DFL); }

bool StopSignal::asked() { return asked_to_stop != 0; }

}  // namespace foretoken
