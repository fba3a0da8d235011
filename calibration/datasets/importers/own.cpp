// Our own measurements: the columns before time_us are the keys of a `foretoken predict` case, so a
// row is read as a case is. time_us is cold; where the row has a warm_us too, it is a second
// sample.
#include <charconv>
#include <unordered_map>

#include "calibration/datasets/importer.hpp"
#include "kernels/kernel_case.hpp"

namespace foretoken {
namespace {

/// "128", "1.5", "true", "1*3|7" (a list) or a word, as the value that a case would hold.
Value scalar(std::string_view cell, const SourcePosition& position) {
  std::int64_t integer = 0;
  const char* const end = cell.data() + cell.size();
  Value value;
  if (const auto read = std::from_chars(cell.data(), end, integer);
      read.ec == std::errc() && read.ptr == end) {
    value = Value(integer);
  } else if (double number = 0; std::from_chars(cell.data(), end, number).ptr == end) {
    value = Value(number);
  } else if (cell == "true" || cell == "false") {
    value = Value(cell == "true");
  } else {
    value = Value(std::string(cell));
  }
  value.position = position;
  return value;
}

Value list(std::string_view cell, const SourcePosition& position) {
  ValueArray values;
  while (!cell.empty()) {
    const std::string_view part = cell.substr(0, cell.find('|'));
    cell.remove_prefix(std::min(cell.size(), part.size() + 1));
    const std::size_t star = part.find('*');
    std::int64_t count = 1;
    if (star != std::string_view::npos) {
      std::from_chars(part.data() + star + 1, part.data() + part.size(), count);
    }
    values.insert(values.end(), static_cast<std::size_t>(count),
                  scalar(part.substr(0, star), position));
  }
  Value value(std::move(values));
  value.position = position;
  return value;
}

bool is_list_column(std::string_view column) {
  return column == "query_tokens" || column == "context_tokens" || column == "histogram";
}

/// A flag may be written as 0 or 1.
Value flag(std::string_view cell, const SourcePosition& position) {
  return scalar(cell == "0" ? "false" : cell == "1" ? "true" : cell, position);
}

Value cell_value(std::string_view column, std::string_view cell, const SourcePosition& position) {
  if (is_list_column(column)) return list(cell, position);
  if (column == "causal" || column == "cold") return flag(cell, position);
  return scalar(cell, position);
}

Value row_case(const CsvRows& rows, int case_columns) {
  Value object;
  object.position = rows.position();
  for (int i = 0; i < case_columns; ++i) {
    const std::string& column = rows.columns()[static_cast<std::size_t>(i)];
    if (rows.text(i).empty()) continue;
    object.set(column, cell_value(column, rows.text(i), object.position));
  }
  return object;
}

/// Not the repeated shapes that tell the noise (pass 1), nor fp8 products in the slow accumulation
/// that serving frameworks turn off.
bool is_for_training(const CsvRows& rows) {
  const int pass = rows.find("pass"), fast = rows.find("fast_accumulation");
  return (pass < 0 || rows.text(pass) != "1") && (fast < 0 || rows.text(fast) != "0");
}

void set_cold(Kernel& kernel, bool is_cold) {
  std::visit(
      [&](auto& value) {
        if constexpr (requires { value.implementation; }) value.implementation.is_cold = is_cold;
      },
      kernel);
}

bool has_implementation(const Kernel& kernel) {
  return std::visit(
      [](const auto& value) {
        return requires { value.implementation; };
      },
      kernel);
}

}  // namespace

void import_own(const MeasuredFile& file, SampleSink& sink) {
  CsvRows rows(file.path);
  const int time = rows.column("time_us"), warm = rows.find("warm_us"),
            source = rows.find("kernel_source");
  while (rows.next()) {
    if (!is_for_training(rows)) continue;
    Kernel kernel = read_kernel_case(row_case(rows, time)).kernel;
    const std::string layout = kernel_layout(kernel);
    const std::string source_name(source >= 0 ? rows.text(source) : "");
    const std::string origin = "foretoken_" + file.gpu.substr(0, file.gpu.find('-'));
    set_cold(kernel, true);
    sink.add({kernel, file.gpu, Seconds(rows.number(time) * 1e-6), source_name, origin, layout});
    // A kernel type without implementation cannot say that it is warm: its prices are cold.
    if (warm < 0 || rows.text(warm).empty() || !has_implementation(kernel)) continue;
    set_cold(kernel, false);
    sink.add({kernel, file.gpu, Seconds(rows.number(warm) * 1e-6), source_name, origin, layout});
  }
}

}  // namespace foretoken
