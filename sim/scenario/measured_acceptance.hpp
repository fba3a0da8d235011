// How often drafts are accepted where somebody measured it: by model, method and text, from the
// files in acceptance/ (embedded). What it leaves out: other texts, other models; nothing is
// carried over from one to another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/speculative.hpp"

namespace foretoken {

struct MeasuredAcceptance {
  std::string model;  // "kimi-k2.5"
  DraftMethod method = DraftMethod::draft_model;
  std::string text;                 // "coding", "coding_thinking"
  std::vector<double> by_position;  // given that those before were accepted
};

/// All, in the order of their file.
const std::vector<MeasuredAcceptance>& measured_acceptances();

/// That of `text`, or nullptr.
const MeasuredAcceptance* find_measured_acceptance(const std::string& model, DraftMethod method,
                                                   std::string_view text);

}  // namespace foretoken
