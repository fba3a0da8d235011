// One implementation and what became of it: compiled, compared with the reference, timed on every
// shape. A failure of any kind is a status, never an exception.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/tune/problem.hpp"
#include "calibration/tune/profile.hpp"

namespace foretoken::tune {

/// An implementation: source and how it is launched, with the constants that launches may name.
/// `state` says which point of the template's space it is, empty for one that came from outside.
struct Candidate {
  std::string source;  // may be empty for a point of the template's space: complete() writes it
  std::vector<Launch> launches;
  Names constants;
  State state;
};

/// A point of the template's space, its source not written yet.
Candidate candidate_at(const Problem& problem, State state);
/// The candidate with its source.
Candidate complete(const Problem& problem, Candidate candidate);

/// Hash of a complete candidate's source and launches, as 16 hexadecimal digits: equal
/// implementations are judged once.
std::string identity_of(const Candidate& candidate);

enum class Status {
  ok,
  wrong,  // an output differs from the reference, NaN among it, or something beyond it was written
  compile_error,
  launch_failure,  // the driver refused a launch: too many threads, registers, shared memory
  fault,           // an illegal access or instruction
  timeout,
  crash,      // the judging process ended
  malformed,  // whoever wrote the candidate did not answer as agreed
};
std::string_view name_of(Status status);
/// Throws ConfigError at `position` for an unknown name.
Status status_named(std::string_view name, const SourcePosition& position);

/// One launch's resources on the last (largest) shape.
struct KernelResources {
  int registers = 0;
  int shared_bytes = 0;
  int local_bytes = 0;  // a thread: spills
  int threads = 0;      // a block
  int blocks_per_sm = 0;
  double blocks = 0;
};

struct Evaluation {
  Status status = Status::crash;
  std::string detail;           // why it failed
  std::vector<double> seconds;  // by shape; empty unless ok
  std::vector<KernelResources> kernels;
  double compile_seconds = 0;
  std::optional<Profile> counters;  // of the heaviest shape, where somebody counted
};

}  // namespace foretoken::tune
