// The page of an explanation: what a slow request's time went to, what the GPUs did meanwhile and
// what bounds it, and which one change would help most.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/report/latency_words.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"

namespace foretoken {
namespace {

class ExplanationPage {
 public:
  ExplanationPage(const LatencyExplanation& explanation, const std::string& version)
      : explanation_(explanation),
        phase_(explanation.phase()),
        divisor_(divisor(explanation)),
        page_(explanation.title, "explanation", version) {}

  std::string html(const std::string& scenario) {
    add_tiles();
    add_causes();
    add_kernels();
    add_drafts();
    add_relaxations();
    add_method();
    page_.section("Scenario",
                  "With every default filled in; simulating this file reproduces the run.");
    page_.text("scenario.toml", scenario);
    page_.text("Terminal output", explanation_text(explanation_, false, 120));
    return page_.html();
  }

 private:
  [[nodiscard]] double share(double seconds) const {
    return phase_.whole_s > 0 ? seconds / phase_.whole_s : 0;
  }
  [[nodiscard]] std::string milliseconds(double seconds) const {
    return brief(seconds * 1e3 / divisor_) + " ms";
  }
  [[nodiscard]] std::string value_of(double seconds) const {
    return fmt::format("{} · {}", milliseconds(seconds), percent(share(seconds)));
  }

  [[nodiscard]] std::string with_interval(std::string_view note) const {
    const std::string interval = interval_text(explanation_);
    return interval.empty() ? std::string(note) : fmt::format("{} · {}", interval, note);
  }

  void add_tiles() {
    const RequestRow& row = explanation_.request;
    std::vector<PageTile> tiles;
    tiles.push_back({asked_text(explanation_.question), brief(explanation_.value_ms), "ms",
                     with_interval(whole_text(explanation_.question.metric))});
    tiles.push_back(
        {explanation_.question.request ? "Request" : "Representative request",
         fmt::format("{}", row.id), "",
         fmt::format("{} · {} prompt and {} output tokens", milliseconds(phase_.whole_s),
                     grouped(row.prompt_tokens), grouped(row.output_tokens))});
    const std::vector<CauseSeconds> causes = ranked(phase_.parts);
    if (!causes.empty()) {
      const auto& [cause, seconds] = causes.front();
      tiles.push_back({"Largest part", percent(share(seconds)), "",
                       fmt::format("{}, {}", cause_text(cause), milliseconds(seconds))});
    }
    if (const auto most = std::ranges::max_element(phase_.kernels, {}, &BoundTime::seconds);
        most != phase_.kernels.end()) {
      tiles.push_back(
          {"GPUs in that time", spelled(most->family), "",
           fmt::format("bound by {}, {}", spelled(most->bound), milliseconds(most->seconds))});
    }
    if (!explanation_.relaxed.empty()) {
      const RelaxedRun* best = most_helpful(explanation_);
      if (best == nullptr) {
        tiles.push_back({"Would help most", "nothing", "", "of the changes tried, on its own"});
      } else {
        tiles.push_back({"Would help most", sentence_case(best->what), "",
                         fmt::format("{} ms instead of {} ms", brief(*best->value_ms),
                                     brief(explanation_.value_ms)),
                         PageTile::Tone::good});
      }
    }
    page_.tiles(tiles);
  }

  /// A bar cut into all causes, then one each in the same colours.
  void add_phase(const std::string& title, const std::string& whole, const LatencyPhase& phase,
                 double times) {
    const auto value = [&](double seconds) {
      return fmt::format("{} ms · {}", brief(seconds * 1e3 / times),
                         percent(phase.whole_s > 0 ? seconds / phase.whole_s : 0));
    };
    std::vector<PageBar> bars = {{whole, brief(phase.whole_s * 1e3 / times) + " ms", {}}};
    for (const auto& [cause, seconds] : ranked(phase.parts)) {
      const std::string name(cause_text(cause));
      bars.front().parts.emplace_back(name, seconds);
      bars.push_back({name, value(seconds), {{name, seconds}}});
    }
    if (bars.size() > 1) page_.bars(title, bars, phase.whole_s);
  }

  void add_causes() {
    page_.section("Where its time went",
                  "Every instant from arrival to last token has exactly one cause; the parts add "
                  "up to what the client saw.");
    const double tokens =
        static_cast<double>(std::max<std::int64_t>(explanation_.request.output_tokens - 1, 1));
    const LatencySplit& split = explanation_.split;
    const auto first = [&] {
      add_phase("Until the first token", "arrival to first token", split.to_first_token, 1);
    };
    const auto after = [&] {
      add_phase("After the first token, per token", "an output token after the first", split.after,
                tokens);
    };
    if (explanation_.question.metric == LatencyMetric::e2e)
      add_phase("End to end", "arrival to last token", phase_, 1);
    if (explanation_.question.metric == LatencyMetric::tpot) {
      after();
      first();
    } else {
      first();
      after();
    }
    std::vector<PageBar> behind;
    double queued = 0;
    for (const auto& [reason, seconds] : ranked(phase_.while_queueing)) {
      queued += seconds;
      behind.push_back({std::string(behind_text(reason)),
                        value_of(seconds),
                        {{std::string(behind_text(reason)), seconds}}});
    }
    page_.bars("What it queued behind", behind, queued);
  }

  void add_kernels() {
    if (phase_.kernels.empty()) return;
    page_.section("GPU work in that time",
                  "In its own steps and those it waited or queued behind, by kernel family and by "
                  "bottleneck: tensor cores, other pipes, memory levels, launches or links.");
    std::vector<BoundTime> times = phase_.kernels;
    std::ranges::stable_sort(times, std::greater(), &BoundTime::seconds);
    double whole = 0;
    std::vector<PageBar> families;
    std::vector<double> seconds_of, ms, shares;
    std::vector<std::string> names, bounds;
    for (const BoundTime& time : times) {
      whole += time.seconds;
      names.push_back(spelled(time.family));
      bounds.push_back(spelled(time.bound));
      ms.push_back(time.seconds * 1e3 / divisor_);
      shares.push_back(share(time.seconds) * 100);
      auto known = std::ranges::find(families, names.back(), &PageBar::name);
      if (known == families.end()) {
        families.push_back({names.back(), "", {}});
        seconds_of.push_back(0);
        known = families.end() - 1;
      }
      known->parts.emplace_back(bounds.back(), time.seconds);
      double& sum = seconds_of[static_cast<std::size_t>(known - families.begin())];
      sum += time.seconds;
      known->value = value_of(sum);
    }
    page_.bars("By kernel family", families, whole);
    page_.table("kernel", {PageColumn::of_texts("family", std::move(names)),
                           PageColumn::of_texts("bound by", std::move(bounds)),
                           PageColumn::of_numbers("time", "ms", 3, std::move(ms)),
                           PageColumn::of_numbers("of its time", "%", 1, std::move(shares))});
  }

  void add_drafts() {
    if (!explanation_.drafts) return;
    page_.section("Does speculation pay?", explanation_.drafts->sentence());
    page_.table("step", payoff_columns(*explanation_.drafts).page());
  }

  void add_relaxations() {
    if (explanation_.relaxed.empty()) return;
    page_.section("What would help",
                  fmt::format("The same run with one change at a time, and the resulting {}.",
                              asked_text(explanation_.question)));
    std::vector<PageGain> gains;
    for (const RelaxedRun& run : explanation_.relaxed) {
      if (!run.value_ms) continue;
      gains.push_back({run.what,
                       fmt::format("{} ms · {}", brief(*run.value_ms),
                                   change_text(explanation_, *run.value_ms)),
                       explanation_.gain(*run.value_ms)});
    }
    page_.gains("Time saved or added", gains);
    page_.table("change", relaxed_columns(explanation_, Ink(false)).page());
  }

  void add_method() {
    page_.section("Notes");
    std::vector<std::string> notes = {
        "A step's time is split by what it would save: prefill of others is the time saved without "
        "their prompts, decode of others the further time saved with this request alone. Both are "
        "predicted, not measured.",
        "Communication: collectives and activations sent between pipeline stages. Idle: pipeline "
        "bubbles."};
    if (!explanation_.question.request) {
      notes.insert(notes.begin(),
                   "The request shown is the completed one nearest to the percentile; others near "
                   "it may have waited for something else.");
    }
    if (!interval_text(explanation_).empty()) {
      notes.emplace_back(
          "The interval is the percentile's 90 % interval (kernel-price error), from the "
          "predictor's "
          "held-out errors; runs with one thing changed share most of that error.");
    }
    if (!explanation_.relaxed.empty()) {
      notes.emplace_back(
          "One change at a time under the same traffic; two together may help more or less than "
          "their sum. For other layouts and engines, use compare and sweep.");
    }
    page_.notes(notes);
  }

  const LatencyExplanation& explanation_;
  LatencyPhase phase_;
  double divisor_;
  ReportPage page_;
};

}  // namespace

std::string explanation_page(const LatencyExplanation& explanation, const std::string& scenario,
                             const std::string& version) {
  return ExplanationPage(explanation, version).html(scenario);
}

}  // namespace foretoken
