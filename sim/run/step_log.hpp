// `--steps FILE`: every step of every stage as one JSON line, compact enough to keep and complete
// enough for a real executor to replay:
//   {"start_s":1.25,"duration_s":0.013,"replica":0,"stage":0,"prefill":[[512,512]],"decode":[[830,1]]}
// With data parallel attention a step is a line for each rank with work; "rank" is left out for 0.
// "host_s": by how much the CPU made the step longer; left out where it did not.
// prefill: [new tokens, context tokens after the step] a sequence; decode: [context, sequences].
// With speculation, decodes that verify drafts are listed apart as "verify":[[new tokens, context,
// sequences]], and the last stage's line has "draft_s", the part of its duration that the draft's
// passes take.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/output_file.hpp"
#include "sim/serving/replica.hpp"

namespace foretoken {

class StepLog final : public StepObserver {
 public:
  /// `file` lives as long; whoever opened it finishes it.
  explicit StepLog(OutputFile& file) : file_(file) {}

  void on_step(ReplicaId replica, int stage, Seconds start, Seconds duration,
               const Batch& batch) override;

 private:
  void append_media(const char* name, const std::vector<MediaPatches>& items);
  void append_verified();

  OutputFile& file_;
  std::string line_;
  std::vector<std::int64_t> decode_contexts_;
  std::vector<std::pair<std::int64_t, std::int64_t>> verified_;
};

}  // namespace foretoken
