#include "kernels/estimators/price_errors.hpp"

#include <span>

#include "kernels/tasks/decomposition.hpp"
#include "sim/base/embedded.hpp"
#include "sim/base/json.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

/// calibration/artifacts/errors (generated, CMakeLists.txt).
std::span<const EmbeddedFile> embedded_price_errors();

namespace {

constexpr std::string_view price_errors_format = "foretoken price errors 1";

BatchKind kind_of(const AttentionLoad& load) {
  if (load.prefill.sequences > 0 && load.decode.sequences > 0) return BatchKind::mixed;
  return load.prefill.sequences > 0 ? BatchKind::prompts : BatchKind::decodes;
}

LaunchLength length_of(Seconds time) {
  const double us = time.value() * 1e6;
  if (us < 10) return LaunchLength::below_10_us;
  if (us < 100) return LaunchLength::below_100_us;
  return us < 1000 ? LaunchLength::below_1_ms : LaunchLength::longer;
}

template <class Enum>
Enum read_name(TableReader& table, std::string_view key) {
  std::string name;
  table.require(key, name);
  const auto parsed = parse_enum<Enum>(name);
  table.expect(key, parsed.has_value(), "is not known to this version");
  return parsed.value_or(Enum{});
}

}  // namespace

ErrorCell error_cell(std::string_view family, const Kernel& kernel, const GpuSpec& gpu,
                     Seconds time) {
  ErrorCell cell = rest_cell(family, gpu.name);
  cell.length = length_of(time);
  std::visit(
      [&](const auto& value) {
        if constexpr (requires { value.load.prefill.causal_pairs; })
          cell.batch = kind_of(value.load);
        if constexpr (requires { value.implementation; }) {
          cell.framework = value.implementation.framework;
          cell.source = value.implementation.source;
          if (cell.source == KernelSource::automatic) {
            cell.source = resolve_implementation(kernel, gpu).source;
          }
        }
      },
      kernel);
  return cell;
}

ErrorCell rest_cell(std::string_view family, std::string_view gpu) {
  ErrorCell cell;
  cell.family = family;
  cell.gpu = gpu;
  return cell;
}

PriceErrors PriceErrors::read(std::string_view text, const std::string& file) {
  const Value root = parse_json(text, {file});
  const Value* const cells = root.is_object() ? root.find("cells") : nullptr;
  const auto* const list = cells != nullptr ? std::get_if<ValueArray>(&cells->data) : nullptr;
  if (list == nullptr) throw ConfigError({file}, "has no list of cells");
  Diagnostics diagnostics;
  Entries entries;
  for (const Value& row : *list) {
    TableReader table(row, diagnostics, "cells");
    ErrorCell cell;
    Entry entry;
    table.require("family", cell.family);
    table.require("gpu", cell.gpu);
    cell.framework = read_name<Framework>(table, "framework");
    cell.source = read_name<KernelSource>(table, "source");
    cell.batch = read_name<BatchKind>(table, "batch");
    cell.length = read_name<LaunchLength>(table, "length");
    table.require("error", entry.error);
    table.require("launches", entry.launches);
    entries.emplace(std::move(cell), entry);
  }
  diagnostics.throw_if_any();
  return PriceErrors(std::move(entries));
}

const PriceErrors& PriceErrors::built_in() {
  static const PriceErrors table = [] {
    const EmbeddedFile& file = embedded_price_errors().front();
    return read(file.text, std::string(file.stem) + ".json");
  }();
  return table;
}

std::optional<double> PriceErrors::find(const ErrorCell& cell) const {
  auto found = entries_.find(cell);
  if (found == entries_.end()) found = entries_.find(rest_cell(cell.family, cell.gpu));
  if (found == entries_.end()) return std::nullopt;
  return found->second.error;
}

Value PriceErrors::json(Value provenance) const {
  ValueArray cells;
  for (const auto& [cell, entry] : entries_) {
    cells.emplace_back(ValueObject{{"family", cell.family},
                                   {"gpu", cell.gpu},
                                   {"framework", std::string(enum_name(cell.framework))},
                                   {"source", std::string(enum_name(cell.source))},
                                   {"batch", std::string(enum_name(cell.batch))},
                                   {"length", std::string(enum_name(cell.length))},
                                   {"error", entry.error},
                                   {"launches", entry.launches}});
  }
  return ValueObject{{"format", std::string(price_errors_format)},
                     {"provenance", std::move(provenance)},
                     {"cells", std::move(cells)}};
}

}  // namespace foretoken
