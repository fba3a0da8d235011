#include "calibration/app/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <span>

#include "calibration/app/judged_tables.hpp"
#include "calibration/app/processes.hpp"
#include "calibration/app/step_prices.hpp"
#include "calibration/say.hpp"

namespace foretoken {
namespace {

/// Rows of a fold that judge at most, and where networks are trained for each of many folds.
constexpr std::size_t rows_judged = 20'000, rows_judged_quickly = 3'000;

template <class Number>
std::string packed(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

template <class Number>
std::vector<Number> unpacked(const std::string& bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Split read_split(const std::string& name) {
  if (const auto split = parse_enum<Split>(name)) return *split;
  const auto& names = EnumNames<Split>::names;
  throw ConfigError({"--split"}, unknown_name_message("split", name, {names.begin(), names.end()}));
}

/// What is hard about a launch's batch, for --ragged: attention alone.
std::vector<std::string> hardships(const Kernel& kernel) {
  constexpr double uneven = 20;  // longest context over the mean
  const AttentionLoad& load = std::get<Attention>(kernel).load;
  const auto sequences = static_cast<double>(load.prefill.sequences + load.decode.sequences);
  const auto contexts =
      static_cast<double>(load.prefill.context_tokens + load.decode.context_tokens);
  const auto longest = static_cast<double>(
      std::max(load.prefill.context_tokens_max, load.decode.context_tokens_max));
  std::vector<std::string> names;
  if (longest * sequences > uneven * contexts) names.emplace_back("max/mean context above 20");
  if (load.prefill.sequences > 0 && load.decode.sequences > 0) {
    names.emplace_back("prompts beside decodes");
  }
  return names;
}

std::vector<std::string> joined(std::vector<std::string> names,
                                const std::vector<std::string>& others) {
  for (const std::string& name : others) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<std::string> asked_columns(const std::vector<std::string>& names,
                                       std::string_view option) {
  const std::vector<std::string_view> known = column_names();
  if (names == std::vector<std::string>{"all"}) return {known.begin(), known.end()};
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      throw ConfigError({std::string(option)}, unknown_name_message("predictor", name, known));
    }
  }
  return names;
}

Evaluation::Evaluation(const EvaluationSettings& settings)
    : settings_(settings),
      split_(read_split(settings.split)),
      columns_(joined(asked_columns(settings.columns), asked_columns(settings.also, "--also"))),
      is_left_out_(split_ == Split::few || split_ == Split::sibling),
      rows_max_(settings.judged.value_or(is_left_out_ ? rows_judged_quickly : rows_judged)),
      column_settings_{settings.artifacts, Recipes(settings.flags.recipes_path()), &settings.flags,
                       is_left_out_} {
  const auto places = [&](const std::vector<std::string>& names) {
    std::vector<std::size_t> found;
    for (const std::string& name : names) {
      found.push_back(
          static_cast<std::size_t>(std::ranges::find(columns_, name) - columns_.begin()));
    }
    return found;
  };
  answers_.push_back({places(asked_columns(settings.columns)), {}});
  if (!settings.also.empty()) {
    answers_.push_back({places(joined({columns_.front()}, asked_columns(settings.also))), {}});
  }
  if (split_ == Split::steps) {
    steps_ = judging_steps(settings.datasets);
    tables_ = judged_tables(settings.datasets, families_of(steps_), split_);
  } else {
    tables_ = judged_tables(settings.datasets, asked_families(settings.family), split_);
  }
}

std::vector<EvaluationReport> Evaluation::run() {
  if (split_ == Split::steps) {
    run_steps();
  } else if (is_left_out_) {
    for (const FamilyTable& table : tables_) run_left_out(table);
  } else {
    run_folds();
  }
  std::vector<EvaluationReport> reports;
  for (Table& table : answers_) reports.push_back(std::move(table.report));
  return reports;
}

void Evaluation::run_folds() {
  std::vector<std::vector<Fold>> folds;
  std::vector<Job> jobs;
  for (const FamilyTable& table : tables_) folds.push_back(judging_folds(table));
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    for (Fold& fold : folds[i]) {
      fold.judged = thinned(fold.judged, rows_max_);
      jobs.push_back({&tables_[i], &fold});
    }
  }
  const bool are_trained = trains_again(split_);
  const auto groups = priced_together(columns_, are_trained);
  const std::vector<std::string> answers =
      in_processes(jobs.size() * groups.size(), settings_.jobs, [&](std::size_t i) {
        const Job& job = jobs[i / groups.size()];
        std::vector<std::string> names;
        for (const std::size_t column : groups[i % groups.size()]) {
          names.push_back(columns_[column]);
        }
        return packed(fold_prices(names, *job.table, *job.fold, are_trained, column_settings_));
      });
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    std::vector<std::vector<RowPrice>> by_column(columns_.size());
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const auto prices = unpacked<RowPrice>(answers[job * groups.size() + group]);
      const std::size_t rows = prices.size() / groups[group].size();
      for (std::size_t i = 0; i < groups[group].size(); ++i) {
        const auto own = std::span(prices).subspan(i * rows, rows);
        by_column[groups[group][i]].assign(own.begin(), own.end());
      }
    }
    judge(jobs[job], by_column);
  }
}

/// Each fold in a process; what a family comes to is printed before the next one is trained.
void Evaluation::run_left_out(const FamilyTable& table) {
  const std::vector<Fold> folds = judging_folds(table);
  const FamilyTraining training = column_settings_.training("synperf", *table.family);
  const std::vector<std::string> answers =
      in_processes(folds.size(), settings_.jobs, [&](std::size_t i) {
        const std::vector<LeftOutPrice> prices = left_out_prices(
            split_, table, folds[i], within(training, folds[i]), settings_.few, rows_max_);
        return std::string(reinterpret_cast<const char*>(prices.data()),
                           prices.size() * sizeof(LeftOutPrice));
      });
  EvaluationReport family;
  for (const std::string& answer : answers) {
    std::vector<LeftOutPrice> prices(answer.size() / sizeof(LeftOutPrice));
    std::memcpy(prices.data(), answer.data(), answer.size());
    for (const LeftOutPrice& price : prices) {
      for (EvaluationReport* report : {&family, &answers_.front().report})
        judge(table, price, *report);
    }
  }
  if (family.empty()) return;
  say("{}", family.text(settings_.text));
  std::fflush(stdout);
}

void Evaluation::judge(const FamilyTable& table, const LeftOutPrice& price,
                       EvaluationReport& report) const {
  const FamilyRow& data = table.rows[price.row];
  const std::string fold =
      split_ == Split::few ? fmt::format("left out, {} launches", price.launches) : "left out";
  const EvaluationReport::Line line = {std::string(table.family->name()), fold,
                                       table.gpus[static_cast<std::size_t>(data.gpu)],
                                       table.sources[static_cast<std::size_t>(data.source)]};
  const std::vector<std::string> columns = left_out_columns(split_);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    report.add(line, columns[i], price.seconds[i], data.measured);
  }
}

/// Those that leave something to learn from: a family measured on one GPU has no other.
std::vector<Fold> Evaluation::judging_folds(const FamilyTable& table) const {
  const FamilyTraining training = column_settings_.training("synperf", *table.family);
  std::vector<Fold> folds = folds_of(table, split_, training.rows, settings_.left_out);
  for (Fold& fold : folds) {
    std::ranges::copy(settings_.also_without, std::back_inserter(fold.training.without_gpus));
  }
  std::erase_if(
      folds, [&](const Fold& fold) { return fold.name.find(settings_.fold) == std::string::npos; });
  if (trains_again(split_)) {
    std::erase_if(folds, [&](const Fold& fold) {
      return training_rows(table, within(training, fold).rows).empty();
    });
  }
  return folds;
}

void Evaluation::judge(const Job& job, const std::vector<std::vector<RowPrice>>& by_column) {
  const auto synperf = std::ranges::find(columns_, "synperf") - columns_.begin();
  if (synperf < std::ssize(columns_))
    add_promises(job, by_column[static_cast<std::size_t>(synperf)]);
  for (std::size_t i = 0; i < job.fold->judged.size(); ++i) {
    const FamilyTable& table = *job.table;
    const FamilyRow& data = table.rows[job.fold->judged[i]];
    EvaluationReport::Line line{std::string(table.family->name()), job.fold->name,
                                table.gpus[static_cast<std::size_t>(data.gpu)],
                                table.sources[static_cast<std::size_t>(data.source)]};
    if (!settings_.is_ragged) {
      add(line, data.measured, i, by_column);
      continue;
    }
    if (data.is_own) continue;  // PyTorch's
    line.fold = "layouts left out";
    add(line, data.measured, i, by_column);
    for (const std::string& hardship : hardships(table.kernels[job.fold->judged[i]])) {
      line.family = hardship;
      add(line, data.measured, i, by_column);
    }
  }
}

/// To each table all of its columns, or none of them where one has no price: errors are of the same
/// rows.
void Evaluation::add(const EvaluationReport::Line& line, double measured, std::size_t i,
                     const std::vector<std::vector<RowPrice>>& by_column) {
  for (Table& table : answers_) {
    bool is_priced = true;
    for (const std::size_t column : table.columns) {
      if (!std::isnan(by_column[column][i].seconds)) continue;
      table.report.count_unpriced(columns_[column]);
      is_priced = false;
    }
    if (!is_priced) continue;
    for (const std::size_t column : table.columns) {
      table.report.add(line, columns_[column], by_column[column][i].seconds, measured);
    }
  }
}

void Evaluation::add_promises(const Job& job, const std::vector<RowPrice>& prices) {
  const FamilyTable& table = *job.table;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    if (std::isnan(prices[i].promised)) continue;
    const std::size_t row = job.fold->judged[i];
    const FamilyRow& data = table.rows[row];
    promised_.push_back(
        {error_cell(table.family->name(), table.kernels[row],
                    table.specs[static_cast<std::size_t>(data.gpu)], Seconds(prices[i].seconds)),
         std::abs(prices[i].seconds / data.measured - 1), prices[i].promised, data.layout});
  }
}

void Evaluation::run_steps() {
  const std::vector<std::string> answers =
      in_processes(columns_.size(), settings_.jobs, [&](std::size_t column) {
        return packed(step_prices(columns_[column], steps_, tables_, column_settings_));
      });
  std::vector<std::vector<RowPrice>> by_column;
  for (const std::string& answer : answers) {
    std::vector<RowPrice>& prices = by_column.emplace_back();
    for (const double seconds : unpacked<double>(answer)) prices.push_back({seconds, std::nan("")});
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    add({"step", steps_fold().name, steps_[i].gpu, steps_[i].kind}, steps_[i].measured, i,
        by_column);
  }
}

}  // namespace foretoken
