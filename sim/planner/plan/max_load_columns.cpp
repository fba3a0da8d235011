#include "sim/planner/plan/max_load_columns.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/planner/plan/plan_columns.hpp"
#include "sim/planner/plan/probe_task.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

/// What columns ask of a row.
struct ShownLoad {
  const MaxLoad& answer;
  std::size_t row;
  std::optional<std::size_t> change;
  bool in_files;
  const PlanCandidate& candidate = answer.candidate_of(row);
  const LoadAnswer& load = load_of(answer, {row, change});

  [[nodiscard]] double factor() const {
    return answer.break_even_factor(answer.rows[row], *change);
  }
  [[nodiscard]] double gpu_price() const {
    return candidate.unit_dollars_per_hour / candidate.unit_gpus;
  }
  [[nodiscard]] int replicas() const {
    int sum = 0;
    for (const auto& [key, count] : answer.space.keys[answer.rows[row].candidate].replicas)
      sum += count;
    return sum;
  }
  /// Nobody looked further up once the search was stopped.
  [[nodiscard]] bool has_interval() const { return !change && !load.is_open; }
  /// CSV has zeros where readers have nothing.
  [[nodiscard]] ResultCell holds() const {
    if (!in_files && !load.impossible.empty()) return {.shown = "not possible"};
    ResultCell cell{.number = load.holds};
    if (load.is_open && load.holds > 0) cell.shown = fmt::format("≥ {:.2f}", load.holds);
    if (has_interval() && load.holds > 0) cell.both = {load.interval.low, load.interval.high};
    return cell;
  }
  [[nodiscard]] std::optional<double> end(double Interval::*end) const {
    return has_interval() && (in_files || load.holds > 0) ? std::optional(load.interval.*end)
                                                          : std::nullopt;
  }
  /// Of changed hardware that can be.
  [[nodiscard]] std::optional<double> gain() const {
    return load.impossible.empty() ? std::optional(factor() - 1) : std::nullopt;
  }
  [[nodiscard]] ResultCell worth() const {
    if (!load.impossible.empty()) return {};
    const double price = gpu_price(), worth = price * factor();
    return {.number = worth, .shown = fmt::format("{:.2f} instead of {:.2f}", worth, price)};
  }
  /// A number that only a load has.
  [[nodiscard]] std::optional<double> if_it_holds(double number) const {
    return load.holds > 0 ? std::optional(number) : std::nullopt;
  }
};
using LoadShown = const ShownLoad&;

/// A model of a row's load.
struct ShownModel {
  const PlanCandidate& candidate;
  const ModelAtLoad& model;
  bool is_tightest;
};
using ModelShown = const ShownModel&;

/// What a model has of a load, for CSV: nothing where the load is none.
template <class Figure>
void add_of_model(const ColumnsOf<std::vector<ShownLoad>>& add, const std::string& name,
                  std::size_t m, const Figure& figure) {
  add({name, "", "", "", ResultKind::number}, [&](LoadShown r) {
    return r.load.models.empty() ? std::nullopt
                                 : std::optional(std::invoke(figure, r.load.models[m]));
  });
}

ResultCell metric_at_load(LoadShown r, std::size_t m) {
  return r.load.metrics.empty() ? ResultCell() : ResultCell{.number = r.load.metrics[m]};
}

}  // namespace

std::string stop_text(const LoadAnswer& load) {
  if (!load.is_open) return "";
  return load.holds > 0 ? fmt::format("stopped: holds at least {} requests/s", brief(load.holds))
                        : "stopped before any load was found";
}

std::string burst_text(const LoadAnswer& load) {
  if (load.metrics.empty() || load.is_sustained) return "";
  return std::string(burst_words);
}

std::string why_no_load(const LoadAnswer& base) {
  if (!base.metrics.empty()) return "";
  if (base.is_open) return stop_text(base);
  return base.impossible.empty() ? "misses the SLO even at a thousandth of the load"
                                 : base.impossible;
}

std::string signed_percent(double share) {
  return fmt::format("{}{:.1f} %", share < 0 ? "−" : "+", 100 * std::abs(share));
}

const LoadAnswer& load_of(const MaxLoad& answer, const LoadRow& row) {
  const MaxLoadRow& found = answer.rows[row.row];
  return row.change ? found.changed[*row.change] : found.base;
}

ResultTable model_columns(const MaxLoad& answer, const std::vector<LoadRow>& of) {
  using enum ResultKind;
  std::vector<ShownModel> rows;
  for (const LoadRow& row : of) {
    const LoadAnswer& load = load_of(answer, row);
    for (const ModelAtLoad& model : load.models)
      rows.push_back({answer.candidate_of(row.row), model, load.tightest() == &model});
  }
  ResultTable table;
  const ColumnsOf add(table, rows);
  add({"model", "model", "", "model", key}, [](ModelShown r) { return r.model.name; });
  add_choices(table, answer.space, rows, false);
  add({"holds_per_s", "holds", "requests/s", "holds /s", number, 2},
      [](ModelShown r) { return r.model.rate; });
  add({"attainment", "within SLO", "%", "SLO met", share, 1,
       [](double share) { return attained(share) + " %"; }},
      [](ModelShown r) { return r.model.attainment; });
  add({"ttft_p99_ms", "TTFT p99", "ms", "TTFT p99", number, 1},
      [](ModelShown r) { return r.model.ttft_p99_ms; });
  add({"tpot_p99_ms", "TPOT p99", "ms", "TPOT p99", number, 1},
      [](ModelShown r) { return r.model.tpot_p99_ms; });
  add({"", "limit", "", " "}, [](ModelShown r) { return r.is_tightest ? "first to miss" : ""; });
  return table;
}

ResultTable load_columns(const MaxLoad& answer, const std::vector<LoadRow>& of, LoadView view,
                         const Ink& ink) {
  using enum ResultKind;
  const bool in_files = view == LoadView::files, changed = view == LoadView::changes;
  std::vector<ShownLoad> rows;
  for (const LoadRow& row : of) rows.push_back({answer, row.row, row.change, in_files});
  ResultTable table;
  const ColumnsOf add(table, rows);
  const auto change = [](LoadShown r) { return r.change ? r.answer.changes[*r.change].text : ""; };
  if (changed) add({"", "with", "", "with"}, change);
  if (!changed)
    add({"", "", "", " "}, [&](LoadShown r) { return answer.best == r.row ? ink.good("★") : ""; });
  add_choices(table, answer.space, rows, !changed);
  add({"change"}, change);
  if (!changed) {
    add({in_files ? "" : "replicas", "", "", "rep", count}, &ShownLoad::replicas);
    add({"gpus", "GPUs", "", "GPUs", count}, [](LoadShown r) { return r.candidate.unit_gpus; });
    add({"dollars_per_hour", "cost", "$/h", "$/h", price, 2},
        [](LoadShown r) { return r.candidate.unit_dollars_per_hour; });
  }
  ResultColumn holds{"holds_per_s", "holds", "requests/s", "holds /s", number, 2};
  holds.is_bounded = true;
  add(holds, &ShownLoad::holds);
  add({"fails_per_s", "", "", "", number}, [](LoadShown r) { return r.load.fails; });
  if (!changed) {
    add({"sustained", "", "", "", flag},
        [](LoadShown r) { return r.if_it_holds(r.load.is_sustained ? 1 : 0); });
    add({"low_per_s", "", "", "", number}, [](LoadShown r) { return r.end(&Interval::low); });
    add({"high_per_s", "", "", "", number}, [](LoadShown r) { return r.end(&Interval::high); });
    add({in_files ? "" : "step_time_error", "", "", "", number},
        [](LoadShown r) { return r.if_it_holds(r.load.half_width); });
    add({"", "holds, per GPU", "requests/s", "/GPU", number, 2},
        [](LoadShown r) { return r.if_it_holds(r.load.holds / r.candidate.unit_gpus); });
  } else {
    add({"", "more", "%", "more", share, 1, signed_percent}, &ShownLoad::gain);
  }
  add({"dollars_per_million_output_tokens", "token cost", "$/M", "$/M tok", price, 2},
      [](LoadShown r) { return r.if_it_holds(r.answer.dollars_per_million(r.row, r.load)); });
  if (view != LoadView::loads)
    add({"worth_factor", "", "", "", number},
        [](LoadShown r) { return r.change ? std::optional(r.factor()) : std::nullopt; });
  if (changed) {
    add({"", "worth", "$/h a GPU", "worth $/h a GPU", number, 2}, &ShownLoad::worth);
    add({"", "price", "$/h a GPU", "", number, 2}, &ShownLoad::gpu_price);
  }
  for (const char* name : {"e2e_p50_ms", "ttft_p99_ms", "tpot_p99_ms"})
    if (!changed) add_metric_in_terminal(table, rows, metric_at_load, name);
  add_metrics(table, rows, metric_at_load,
              [&](const Figure& figure) { return !changed && figure.use == FigureUse::runs; });
  add({"reason", "note"}, [](LoadShown r) {
    const std::string stop = stop_text(r.load);
    if (!stop.empty()) return ResultCell{.text = stop};
    if (const std::string burst = burst_text(r.load); !burst.empty())
      return ResultCell{.text = burst};
    return ResultCell{.text = r.load.impossible, .shown = r.change ? "" : why_no_load(r.load)};
  });
  const std::vector<ModelShare>& models = answer.space.traffic.models;
  for (std::size_t m = 0; in_files && m < models.size(); ++m) {
    add_of_model(add, models[m].name + " holds_per_s", m, &ModelAtLoad::rate);
    add_of_model(add, models[m].name + " attainment", m, &ModelAtLoad::attainment);
  }
  return table;
}

}  // namespace foretoken
