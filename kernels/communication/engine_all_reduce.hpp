// Which all-reduce a serving engine runs, by size, ranks, version and fabric: a table
// (hardware/specs/all_reduce/*.toml) of the kernels that its sources choose among and of what each
// takes, fitted to measured times. Beyond the table's sizes the engine hands the call to NCCL, and
// so it does between nodes, for odd numbers of ranks, and where GPUs cannot read each other.
// `foretoken-calibrate fit --comm --all-reduce` writes the tables.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/comm_parameters.hpp"
#include "kernels/communication/engine_version.hpp"
#include "kernels/implementation.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// A kernel for messages below a size.
struct AllReduceKernel {
  std::string algorithm;  // one_shot, two_shot, or nvls: the switch adds (multimem)
  double bytes_below = 0;
  ProtocolCosts costs;  // step is 0: the number of ranks is the choice's
  [[nodiscard]] Protocol protocol() const;
  friend bool operator==(const AllReduceKernel&, const AllReduceKernel&) = default;
};

/// What an engine chooses among for a group of `ranks` behind `fabric`, smallest messages first.
struct AllReduceChoice {
  Framework engine = Framework::vllm;
  std::string since;   // the first version that does
  std::string fabric;  // FabricCosts::name
  int ranks = 2;
  std::vector<AllReduceKernel> kernels;

  /// nullptr: NCCL's.
  [[nodiscard]] const AllReduceKernel* kernel_for(double bytes) const;
};

/// What "auto" means for an engine of a version ("" = the newest): its name as `all_reduce` takes
/// it. PyTorch alone has no kernels of its own: "nccl". Any other `asked` stays as it is.
std::string engine_all_reduce(std::string_view asked, Framework engine, std::string_view version);

/// Whether the engine starts NCCL with NVLink SHARP. SGLang does not (sgl-project/sglang#631;
/// engine.py, _set_envs_and_config: NCCL_NVLS_ENABLE=0), unless --enable-nccl-nvls asks for it.
bool starts_nccl_with_nvls(Framework engine);

class AllReduceChoices {
 public:
  explicit AllReduceChoices(std::vector<AllReduceChoice> choices) : choices_(std::move(choices)) {}

  /// hardware/specs/all_reduce, compiled in.
  static const AllReduceChoices& built_in();

  /// The newest choice that is not newer than the version asked for; for a version older than all,
  /// the oldest. Between tabulated numbers of ranks, the next larger. nullptr: none for this
  /// fabric.
  [[nodiscard]] const AllReduceChoice* find(const EngineVersion& asked, std::string_view fabric,
                                            int ranks) const;
  /// Whether any engine's kernels were tabulated for this fabric.
  [[nodiscard]] bool knows(Framework engine, std::string_view fabric) const;

  [[nodiscard]] std::span<const AllReduceChoice> choices() const { return choices_; }

 private:
  std::vector<AllReduceChoice> choices_;
};

/// One engine's file. Throws ConfigError with every mistake of it.
std::vector<AllReduceChoice> read_all_reduce_choices(const Value& root);
/// As read_all_reduce_choices() reads it back.
std::string all_reduce_toml(Framework engine, std::span<const AllReduceChoice> choices);

}  // namespace foretoken
