// How many replicas of each variant of a model there should be: the arithmetic of llm-d's Workload
// Variant Autoscaler (WVA) 0.9.0, without a clock or a fleet. Variants are pools that serve one
// model on different GPUs or in different layouts. Source: github.com/llm-d-incubation/
// workload-variant-autoscaler, internal/engines and internal/saturation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/serving/settings/wva_settings.hpp"

namespace foretoken {

/// A replica as its metrics show it.
struct ReplicaMetrics {
  double kv_capacity = 0;   // tokens that its cache holds
  double kv_share = 0;      // of it in use, the most within the window
  std::int64_t queued = 0;  // requests that wait in it, the most within the window
  double prompt_tokens = 0, output_tokens = 0;  // of a request, mean; 0 = none has ended
  double prefix_hits = 0;                       // share of prompt tokens found in its cache
};

struct Variant {
  std::string name = {};      // decides between equals
  double cost = 0;            // of a replica
  int min = 1, max = 1;       // replicas
  std::string hardware = {};  // GPUs and how many: variants on equal ones share what is learnt
  std::int64_t batch_tokens = 0, sequences = 0;  // of a step, at most
};

struct VariantView {
  int serving = 0, starting = 0;
  std::vector<ReplicaMetrics> reporting;  // of those that serve and have metrics

  [[nodiscard]] int replicas() const { return serving + starting; }
};

struct ModelView {
  std::vector<VariantView> variants;
  std::int64_t held = 0;  // requests before all replicas
};

class VariantAnalyzer {
 public:
  virtual ~VariantAnalyzer() = default;
  /// Replicas that there should be of each variant, in their order: within min and max, and one at
  /// least in all.
  std::vector<int> look(const ModelView& view);

 protected:
  explicit VariantAnalyzer(std::vector<Variant> variants) : variants_(std::move(variants)) {}
  [[nodiscard]] const std::vector<Variant>& variants() const { return variants_; }

 private:
  virtual std::vector<int> wanted(const ModelView& view) = 0;

  std::vector<Variant> variants_;
};

/// As `settings.analyzer` says.
std::unique_ptr<VariantAnalyzer> make_variant_analyzer(const WvaSettings& settings,
                                                       std::vector<Variant> variants);
std::unique_ptr<VariantAnalyzer> make_token_analyzer(const WvaSettings& settings,
                                                     std::vector<Variant> variants);
std::unique_ptr<VariantAnalyzer> make_share_analyzer(const WvaSettings& settings,
                                                     std::vector<Variant> variants);

}  // namespace foretoken
