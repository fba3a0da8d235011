#include "sim/report/latency_explanation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/charts.hpp"
#include "sim/report/command_text.hpp"
#include "sim/report/latency_words.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/terminal_text.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

constexpr int share_bar_columns = 20;
constexpr std::size_t kernels_shown = 8;

std::string milliseconds(double seconds) { return brief(seconds * 1e3) + " ms"; }

class ExplanationText {
 public:
  ExplanationText(const LatencyExplanation& explanation, bool colour, int width)
      : explanation_(explanation),
        phase_(explanation.phase()),
        divisor_(divisor(explanation)),
        ink_(colour),
        layout_{.width = width, .colour = colour} {}

  std::string text() const {
    return headline() + "\n" + causes() + "\n" + kernels() + links() + drafts() + relaxations();
  }

 private:
  [[nodiscard]] std::string headline() const {
    const LatencyQuestion& question = explanation_.question;
    const RequestRow& row = explanation_.request;
    const std::string value = brief(explanation_.value_ms) + " ms";
    const std::string who = fmt::format("request {}", row.id);
    std::string text = ink_.strong(explanation_.title) + "\n";
    if (question.request) {
      text +=
          fmt::format("  {} of {} is {}", metric_text(question.metric), who, ink_.strong(value));
    } else {
      text += fmt::format("  p{:g} of {} is {}; represented by {} with {}", question.percentile,
                          metric_text(question.metric), ink_.strong(value), who,
                          milliseconds(phase_.whole_s / divisor_));
    }
    if (const std::string interval = interval_text(explanation_); !interval.empty())
      text += ink_.quiet(fmt::format("\n  {}", interval));
    text += fmt::format(
        "\n  {}, {}, on replica {}, arrived at {}\n", counted(row.prompt_tokens, "prompt token"),
        counted(row.output_tokens, "output token"), row.replica, duration(row.arrival_s));
    return text;
  }

  [[nodiscard]] std::vector<std::string> row(std::string name, double seconds) const {
    const double share = phase_.whole_s > 0 ? seconds / phase_.whole_s : 0;
    return {std::move(name), milliseconds(seconds / divisor_), percent(share),
            ink_.chart(bar(share, share_bar_columns))};
  }

  [[nodiscard]] std::string causes() const {
    TextTable table({{"", Align::left}, {"", Align::right}, {"", Align::right}, {"", Align::left}});
    for (const auto& [cause, seconds] : ranked(phase_.parts)) {
      table.add_row(row(std::string(cause_text(cause)), seconds));
      if (cause != LatencyCause::queueing) continue;
      for (const auto& [reason, part] : ranked(phase_.while_queueing)) {
        table.add_row(row(fmt::format("  behind {}", behind_text(reason)), part));
      }
    }
    table.set_total({std::string(whole_text(explanation_.question.metric)),
                     milliseconds(phase_.whole_s / divisor_), "", ""});
    return ink_.strong("Where its time went") + "\n" + table.text(layout_);
  }

  [[nodiscard]] std::string kernels() const {
    if (phase_.kernels.empty()) return "";
    TextTable table({{"kernels", Align::left},
                     {"bound by", Align::left},
                     {"", Align::right},
                     {"", Align::right},
                     {"", Align::left}});
    std::vector<BoundTime> times = phase_.kernels;
    std::ranges::stable_sort(times, std::greater(), &BoundTime::seconds);
    double rest = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (i >= kernels_shown) {
        rest += times[i].seconds;
        continue;
      }
      std::vector<std::string> cells = row(std::string(times[i].family), times[i].seconds);
      cells.insert(cells.begin() + 1, std::string(times[i].bound));
      table.add_row(std::move(cells));
    }
    if (rest > latency_rounding_s) {
      std::vector<std::string> cells = row("others", rest);
      cells.insert(cells.begin() + 1, "");
      table.add_row(std::move(cells));
    }
    return ink_.strong("GPU work in that time, in its own steps and those it waited for") + "\n" +
           table.text(layout_) + "\n";
  }

  [[nodiscard]] std::string links() const {
    if (explanation_.contention_by.empty()) return "";
    constexpr std::size_t links_shown = 5;
    TextTable table({{"", Align::left}, {"", Align::right}});
    double rest = 0;
    for (std::size_t i = 0; i < explanation_.contention_by.size(); ++i) {
      const NamedSeconds& link = explanation_.contention_by[i];
      if (i >= links_shown) {
        rest += link.seconds;
      } else {
        table.add_row({link.name, milliseconds(link.seconds)});
      }
    }
    if (rest > 0) table.add_row({"others", milliseconds(rest)});
    return ink_.strong("Contended links, and the delay over the whole run") + "\n" +
           table.text(layout_) + "\n";
  }

  [[nodiscard]] std::string drafts() const {
    if (!explanation_.drafts) return "";
    return ink_.strong("Does speculation pay?") + "\n" +
           payoff_columns(*explanation_.drafts).terminal("").text(layout_) + "\n" +
           explanation_.drafts->sentence() + "\n\n";
  }

  [[nodiscard]] std::string relaxations() const {
    if (explanation_.relaxed.empty()) return "";
    return ink_.strong("What would help") + "\n" +
           relaxed_columns(explanation_, ink_).terminal("").text(layout_) + "\n" + advice();
  }

  [[nodiscard]] std::string advice() const {
    const RelaxedRun* best = most_helpful(explanation_);
    if (best == nullptr) return "None of these changes helps on its own.\n";
    std::vector<std::string> words = explanation_.command;
    std::ranges::move(set_words(texts_of(best->changes)), std::back_inserter(words));
    return fmt::format("{} would help most: {} goes from {} ms to {} ms.\n{}",
                       ink_.strong(sentence_case(best->what)), explanation_.question.text(),
                       brief(explanation_.value_ms), brief(*best->value_ms),
                       ink_.quiet(command_lines(words, layout_.width, 2)));
  }

  const LatencyExplanation& explanation_;
  LatencyPhase phase_;
  double divisor_;
  Ink ink_;
  TextTable::Layout layout_;
};

Value parts_value(const LatencyParts& parts) {
  Value value;
  for (const auto& [cause, seconds] : ranked(parts)) {
    value.set(enum_name(cause), rounded(seconds * 1e3));
  }
  return value;
}

Value phase_value(const LatencyPhase& phase) {
  ValueArray kernels;
  for (const BoundTime& time : phase.kernels) {
    kernels.emplace_back(ValueObject{{"family", std::string(time.family)},
                                     {"bound", std::string(time.bound)},
                                     {"ms", rounded(time.seconds * 1e3)}});
  }
  return ValueObject{{"whole_ms", rounded(phase.whole_s * 1e3)},
                     {"parts_ms", parts_value(phase.parts)},
                     {"while_queueing_ms", parts_value(phase.while_queueing)},
                     {"kernels", kernels}};
}

Value relaxed_value(const LatencyExplanation& explanation) {
  ValueArray runs = relaxed_columns(explanation, Ink(false)).json();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<std::string> sets = texts_of(explanation.relaxed[i].changes);
    runs[i].set("set", ValueArray(sets.begin(), sets.end()));
  }
  return runs;
}

}  // namespace

LatencyPhase LatencyExplanation::phase() const {
  switch (question.metric) {
    case LatencyMetric::ttft:
      return split.to_first_token;
    case LatencyMetric::tpot:
      return split.after;
    case LatencyMetric::e2e:
      break;
  }
  LatencyPhase both = split.to_first_token;
  both.add(split.after);
  return both;
}

void rank_by_gain(LatencyExplanation& explanation) {
  std::ranges::stable_sort(explanation.relaxed, [](const RelaxedRun& a, const RelaxedRun& b) {
    if (a.value_ms.has_value() != b.value_ms.has_value()) return a.value_ms.has_value();
    return a.value_ms && *a.value_ms < *b.value_ms;
  });
}

Value explanation_value(const LatencyExplanation& explanation) {
  const LatencyQuestion& question = explanation.question;
  const RequestRow& row = explanation.request;
  Value value;
  value.set("title", explanation.title);
  value.set("metric", std::string(enum_name(question.metric)));
  if (!question.request) value.set("percentile", question.percentile);
  value.set("value_ms", rounded(explanation.value_ms));
  if (const auto& interval = explanation.interval)
    value.set("interval_ms", ValueArray{rounded(interval->low), rounded(interval->high)});
  ValueObject request = {
      {"id", std::int64_t{row.id}},          {"replica", std::int64_t{row.replica}},
      {"arrival_s", rounded(row.arrival_s)}, {"prompt_tokens", row.prompt_tokens},
      {"output_tokens", row.output_tokens},  {"preemptions", row.preemptions}};
  for (const LatencyMetric metric :
       {LatencyMetric::ttft, LatencyMetric::tpot, LatencyMetric::e2e}) {
    const std::optional<double> own = latency_ms(row, metric);
    if (own) request.emplace_back(fmt::format("{}_ms", enum_name(metric)), rounded(*own));
  }
  value.set("request", std::move(request));
  value.set("to_first_token", phase_value(explanation.split.to_first_token));
  value.set("after_first_token", phase_value(explanation.split.after));
  if (!explanation.contention_by.empty()) {
    Value links;
    for (const NamedSeconds& link : explanation.contention_by)
      links.set(link.name, rounded(link.seconds * 1e3));
    value.set("contention_by_ms", std::move(links));
  }
  if (explanation.drafts) value.set("speculation", payoff_value(*explanation.drafts));
  if (!explanation.relaxed.empty()) value.set("relaxed", relaxed_value(explanation));
  return value;
}

std::string explanation_text(const LatencyExplanation& explanation, bool colour, int width) {
  return ExplanationText(explanation, colour, width).text();
}

}  // namespace foretoken
