// Who says how good an implementation is: recorded evaluations, a model of a GPU, or a GPU.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "calibration/tune/evaluation.hpp"
#include "hardware/gpu.hpp"

namespace foretoken::tune {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// A failure is a status. Throws ConfigError only where nothing can be judged at all.
  virtual Evaluation evaluate(const Problem& problem, const Candidate& candidate) = 0;
  /// Whether it can tell anything of this point of the template's space.
  [[nodiscard]] virtual bool knows(const Problem&, const State&) const { return true; }
  /// The GPU whose peaks profiles are told against.
  [[nodiscard]] virtual const GpuSpec& gpu() const = 0;
  /// Whether a whole space can be judged in seconds, so that its best is known: not on a GPU.
  [[nodiscard]] virtual bool is_exhaustible() const { return true; }
};

/// Looks every candidate up in a recording (`record`'s CSV or a cache, plain or gzip) by its
/// parameters; one from outside the template by its source and launches.
std::unique_ptr<Evaluator> make_replay(const std::string& log, GpuSpec gpu);

struct SimulationOptions {
  double noise = 0.02;  // standard deviation of a time's logarithm
  std::uint64_t seed = 1;
};
/// Prices launches with our decomposition, features and the GPU's rates; see the README for what it
/// knows and what it leaves out.
std::unique_ptr<Evaluator> make_simulated(GpuSpec gpu, const SimulationOptions& options);

/// Compiles, checks and times on this machine's GPU, in child processes; keeps cubins in a folder
/// of its own. Programs that share a GPU compile at the same time and take turns at judging.
std::unique_ptr<Evaluator> make_cuda(std::vector<std::string> device_command);

/// Asks `inner` for what `log` does not hold yet and appends it there: a killed run goes on, and
/// nothing is evaluated twice.
std::unique_ptr<Evaluator> make_cached(std::unique_ptr<Evaluator> inner, const std::string& log);

}  // namespace foretoken::tune
