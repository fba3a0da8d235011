#include "sim/processes/start_gate.hpp"

#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "sim/processes/child_processes.hpp"

namespace foretoken {

StartGate::StartGate() {
  if (pipe(ends_) != 0) throw std::runtime_error("cannot make a pipe");
}

StartGate::~StartGate() {
  for (const int end : ends_) close(end);
}

void StartGate::wait() const {
  close(ends_[1]);  // of this process; the parent's stays
  char pass = 0;
  ssize_t count = 0;
  do {
    count = read(ends_[0], &pass, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1) throw std::runtime_error("the run that this one belongs to has ended");
}

void StartGate::let_one_in() const { write_all(ends_[1], "."); }

}  // namespace foretoken
