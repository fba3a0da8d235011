#include "calibration/app/fold_prices.hpp"

#include <functional>
#include <limits>

namespace foretoken {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

using PriceRow = std::function<RowPrice(const Kernel&, const GpuSpec&)>;

PriceRow as_shipped(const std::string& column, const ColumnSettings& settings) {
  return
      [predictor = shipped_predictor(column, settings)](const Kernel& kernel, const GpuSpec& gpu) {
        const Prediction price = predictor->predict(kernel, gpu);
        const bool is_learned = price.origin == Origin::learned;
        return RowPrice{price.time.value(), is_learned ? price.expected_error : nothing};
      };
}

PriceRow as_trained(const std::string& column, const FamilyTable& table, const Fold& fold,
                    const ColumnSettings& settings) {
  return [price = trained_prices(column, table, fold, settings)](const Kernel& kernel,
                                                                 const GpuSpec& gpu) {
    return RowPrice{price(kernel, gpu), nothing};
  };
}

RowPrice priced(const PriceRow& price, const Kernel& kernel, const GpuSpec& gpu) {
  try {
    return price(kernel, gpu);
  } catch (const PredictionError&) {
    return {nothing, nothing};
  }
}

}  // namespace

std::vector<std::vector<std::size_t>> priced_together(const std::vector<std::string>& columns,
                                                      bool are_trained) {
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::size_t> of_paper;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!are_trained && is_on_paper(columns[i])) {
      of_paper.push_back(i);
    } else {
      groups.push_back({i});
    }
  }
  if (!of_paper.empty()) groups.push_back(std::move(of_paper));
  return groups;
}

std::vector<RowPrice> fold_prices(const std::vector<std::string>& columns, const FamilyTable& table,
                                  const Fold& fold, bool are_trained,
                                  const ColumnSettings& settings) {
  std::vector<PriceRow> prices;
  for (const std::string& column : columns) {
    prices.push_back(are_trained ? as_trained(column, table, fold, settings)
                                 : as_shipped(column, settings));
  }
  const std::size_t rows = fold.judged.size();
  std::vector<RowPrice> answers(columns.size() * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t row = fold.judged[i];
    const GpuSpec& gpu = table.specs[static_cast<std::size_t>(table.rows[row].gpu)];
    for (std::size_t column = 0; column < columns.size(); ++column) {
      answers[column * rows + i] = priced(prices[column], table.kernels[row], gpu);
    }
  }
  return answers;
}

}  // namespace foretoken
