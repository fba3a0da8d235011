// llm-d's Workload Variant Autoscaler at work on the pools of a model: it scrapes their replicas,
// decides how many of each pool there should be (variant_analyzer.hpp), and leaves the rest to the
// autoscaler of each pool. What it does itself is to wake pools without a replica when requests
// wait, and to ask for none where no request was completed for long.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "sim/serving/autoscaler.hpp"
#include "sim/serving/replica_scrapes.hpp"
#include "sim/serving/variant_analyzer.hpp"

namespace foretoken {

class VariantController final : public EventHandler {
 public:
  /// A pool, and who scales it.
  struct Member {
    Variant variant;
    Autoscaler* autoscaler = nullptr;
    int block_tokens = 0;  // of a KV block
  };
  /// References, autoscalers too, must outlive it.
  VariantController(const WvaSettings& settings, Platform& platform, const Fleet& fleet,
                    std::vector<Member> members);
  /// Before the run, and before the autoscalers.
  void arm();

  void on_event(std::uint64_t tag) override;

 private:
  void scrape();
  void optimize();
  void wake();
  void arm(std::uint64_t tag);
  [[nodiscard]] ModelView seen() const;
  /// Completed requests of all variants.
  [[nodiscard]] std::int64_t completed() const;
  [[nodiscard]] bool is_idle() const;

  WvaSettings settings_;
  Platform& platform_;
  const Fleet& fleet_;
  std::vector<Member> members_;
  std::unique_ptr<VariantAnalyzer> analyzer_;
  std::vector<ReplicaScrapes> scrapes_;  // by replica of the fleet
  struct Completed {
    Seconds at;
    std::int64_t requests = 0;
  };
  std::deque<Completed> completed_;  // one before the retention period, and those within
};

}  // namespace foretoken
