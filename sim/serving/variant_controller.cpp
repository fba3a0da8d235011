#include "sim/serving/variant_controller.hpp"

#include <algorithm>

namespace foretoken {
namespace {

constexpr std::uint64_t scraping = 0, optimizing = 1, waking = 2;
constexpr Seconds wake_interval{0.1};  // WVA's scale-from-zero engine (docs, scale-from-zero.md)

std::vector<Variant> variants_in(const std::vector<VariantController::Member>& members) {
  std::vector<Variant> variants;
  for (const VariantController::Member& member : members) variants.push_back(member.variant);
  return variants;
}

}  // namespace

VariantController::VariantController(const WvaSettings& settings, Platform& platform,
                                     const Fleet& fleet, std::vector<Member> members)
    : settings_(settings),
      platform_(platform),
      fleet_(fleet),
      members_(std::move(members)),
      analyzer_(make_variant_analyzer(settings, variants_in(members_))),
      scrapes_(fleet.size(), ReplicaScrapes(settings.metrics_window)) {}

void VariantController::arm() {
  arm(scraping);
  arm(optimizing);
  const auto may_sleep = [](const Member& member) { return member.variant.min == 0; };
  if (std::ranges::any_of(members_, may_sleep)) arm(waking);
}

void VariantController::arm(std::uint64_t tag) {
  const Seconds interval = tag == scraping     ? settings_.scrape_interval
                           : tag == optimizing ? settings_.optimization_interval
                                               : wake_interval;
  platform_.at(platform_.now() + interval, *this, tag);
}

void VariantController::on_event(std::uint64_t tag) {
  if (tag == scraping) scrape();
  if (tag == optimizing) optimize();
  if (tag == waking) wake();
  arm(tag);
}

void VariantController::scrape() {
  const Seconds now = platform_.now();
  for (const Member& member : members_) {
    const FleetPart part = member.autoscaler->part();
    for (std::size_t i = part.first; i < part.first + part.count; ++i) {
      if (fleet_.state(i) != ReplicaState::serving) {
        scrapes_[i].clear();
        continue;
      }
      const AttentionRanks& ranks = fleet_.replica(i).ranks();
      scrapes_[i].add({now,
                       static_cast<double>(ranks.blocks_used()) /
                           static_cast<double>(std::max<std::int64_t>(1, ranks.blocks())),
                       ranks.waiting() + fleet_.replica(i).waiting_for_blocks(), fleet_.served(i),
                       ranks.prefix_totals().all()});
    }
  }
  if (!settings_.retention) return;
  completed_.push_back({now, completed()});
  while (completed_.size() > 1 && completed_[1].at <= now - *settings_.retention)
    completed_.pop_front();
}

std::int64_t VariantController::completed() const {
  std::int64_t sum = 0;
  for (const Member& member : members_) {
    const FleetPart part = member.autoscaler->part();
    for (std::size_t i = part.first; i < part.first + part.count; ++i)
      sum += fleet_.served(i).requests;
  }
  return sum;
}

/// At the beginning the model is taken to be busy.
bool VariantController::is_idle() const {
  if (!settings_.retention || completed_.empty()) return false;
  const Completed& before = completed_.front();
  return before.at <= platform_.now() - *settings_.retention &&
         before.requests == completed_.back().requests;
}

ModelView VariantController::seen() const {
  const Seconds now = platform_.now();
  ModelView view;
  view.held = fleet_.held();
  for (const Member& member : members_) {
    VariantView& variant = view.variants.emplace_back();
    variant.serving = member.autoscaler->serving();
    variant.starting = member.autoscaler->starting();
    const FleetPart part = member.autoscaler->part();
    for (std::size_t i = part.first; i < part.first + part.count; ++i) {
      const bool is_serving = fleet_.state(i) == ReplicaState::serving;
      if (!is_serving || !scrapes_[i].any(now, settings_.metrics_window)) continue;
      variant.reporting.push_back(scrapes_[i].seen(now, settings_.metrics_window));
      variant.reporting.back().kv_capacity =
          static_cast<double>(fleet_.replica(i).ranks().blocks() * member.block_tokens);
    }
  }
  return view;
}

void VariantController::optimize() {
  if (is_idle()) {
    for (const Member& member : members_) member.autoscaler->set_desired(0);
    return;
  }
  const ModelView view = seen();
  const auto is_silent = [](const VariantView& variant) { return variant.reporting.empty(); };
  if (std::ranges::all_of(view.variants, is_silent)) return;  // asleep, or not scraped yet
  const std::vector<int> desired = analyzer_->look(view);
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i].autoscaler->set_desired(desired[i]);
}

/// All that sleep, as WVA does, not the cheapest alone.
void VariantController::wake() {
  if (fleet_.held() == 0) return;
  for (const Member& member : members_) member.autoscaler->wake();
}

}  // namespace foretoken
