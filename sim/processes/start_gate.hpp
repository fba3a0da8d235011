// A gate that children wait at: jobs that can only be forked before it is known whether anybody
// wants them. Those that nobody wants are killed where they wait.
#pragma once

namespace foretoken {

class StartGate {
 public:
  /// Throws std::runtime_error where the system has no pipe to spare.
  StartGate();
  ~StartGate();
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;

  /// In a child: returns once the gate is open. Throws std::runtime_error if it never will be.
  void wait() const;
  /// Lets one child through.
  void let_one_in() const;

 private:
  int ends_[2];
};

}  // namespace foretoken
