// Highest loads as a table: what the terminal, the files and the page say of each.
#pragma once

#include <optional>
#include <vector>

#include "sim/planner/plan/max_load.hpp"
#include "sim/report/result_table.hpp"

namespace foretoken {

/// A row of the answer as it is, or under one of the changes.
struct LoadRow {
  std::size_t row = 0;
  std::optional<std::size_t> change = std::nullopt;
};

/// loads: of rows as they are. changes: of changed ones. files: of both, for CSV.
enum class LoadView { loads, changes, files };

ResultTable load_columns(const MaxLoad& answer, const std::vector<LoadRow>& rows, LoadView view,
                         const Ink& ink);

const LoadAnswer& load_of(const MaxLoad& answer, const LoadRow& row);

/// What each model has of these rows' loads, a line a model; none of one model.
ResultTable model_columns(const MaxLoad& answer, const std::vector<LoadRow>& rows);

/// What a stopped search leaves open; "" if it ran to its end.
std::string stop_text(const LoadAnswer& load);
/// What a load is that a burst alone was served at; "" if it is a rate that goes on.
std::string burst_text(const LoadAnswer& load);
/// Why a row as it is holds no load; "" if it does.
std::string why_no_load(const LoadAnswer& base);
/// "+12.5 %".
std::string signed_percent(double share);

}  // namespace foretoken
