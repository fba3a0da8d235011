#include <map>
#include <set>

#include "calibration/tune/rewriter.hpp"

namespace foretoken::tune {
namespace {

class TemplateRewriter final : public Rewriter {
 public:
  TemplateRewriter(const Problem& problem, TemplateOptions options)
      : problem_(&problem),
        options_(std::move(options)),
        random_(RandomStreams(options_.seed).stream("template " + problem.name)) {
    see(start_state(problem));
  }

  std::array<bool, strategy_count> can(const PoolEntry& parent) override {
    const Left& left = left_at(parent.candidate.state);
    std::array<bool, strategy_count> any{};
    for (std::size_t s = 0; s < any.size(); ++s) any[s] = left[s] > 0;
    return any;
  }
  Rewrite rewrite(const PoolEntry& parent, Strategy strategy) override {
    std::vector<State> found;
    for (State& state : moves(*problem_, parent.candidate.state, strategy)) {
      if (is_new(state)) found.push_back(std::move(state));
    }
    FORETOKEN_CHECK(!found.empty(), "rewrite() where can() does not hold");
    const auto chosen =
        options_.is_seeded
            ? static_cast<std::size_t>(uniform(random_) * static_cast<double>(found.size()))
            : 0;
    see(found[chosen]);
    return {candidate_at(*problem_, std::move(found[chosen])), {}};
  }

 private:
  /// How many new states one move of each strategy reaches.
  using Left = std::array<int, strategy_count>;

  [[nodiscard]] bool is_new(const State& state) const {
    return !seen_.contains(state) && (!options_.known || options_.known(state));
  }
  const Left& left_at(const State& state) {
    const auto [entry, added] = left_.try_emplace(state, Left{});
    if (added) {
      for (std::size_t s = 0; s < strategy_count; ++s) {
        for (const State& moved : moves(*problem_, state, static_cast<Strategy>(s))) {
          entry->second[s] += is_new(moved) ? 1 : 0;
        }
      }
    }
    return entry->second;
  }
  /// Moves go both ways: whoever is one move from `state` has one new state less.
  void see(const State& state) {
    if (!is_new(state)) return;
    for (std::size_t s = 0; s < strategy_count; ++s) {
      for (const State& around : moves(*problem_, state, static_cast<Strategy>(s))) {
        if (const auto entry = left_.find(around); entry != left_.end()) --entry->second[s];
      }
    }
    seen_.insert(state);
  }

  const Problem* problem_;
  TemplateOptions options_;
  RandomStream random_;
  std::set<State> seen_;
  std::map<State, Left> left_;
};

}  // namespace

std::vector<State> moves(const Problem& problem, const State& state, Strategy strategy) {
  std::vector<State> found;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Parameter& parameter = problem.parameters[i];
    if (parameter.strategy != strategy) continue;
    for (const int step : {1, -1}) {
      const int index = state[i] + step;
      if (index < 0 || index >= static_cast<int>(parameter.values.size())) continue;
      found.push_back(state);
      found.back()[i] = index;
    }
  }
  return found;
}

std::unique_ptr<Rewriter> make_template_rewriter(const Problem& problem, TemplateOptions options) {
  return std::make_unique<TemplateRewriter>(problem, std::move(options));
}

}  // namespace foretoken::tune
