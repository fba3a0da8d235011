// Makes the variant that a scenario names. Internal to sim/run.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/scenario/engine_flags.hpp"
#include "sim/scenario/key_tables.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// Options that `choice` does not have and other variants do: better explained than called unknown.
template <class Factory, class... Arguments>
void explain_foreign_options(const Registry<Factory>& registry, const VariantChoice& choice,
                             TableReader& options, Arguments&... arguments) {
  for (const auto& [key, value] : std::get<ValueObject>(choice.options.data)) {
    if (std::ranges::find(options.asked(), key) != options.asked().end()) continue;
    std::vector<std::string> owners;
    for (const auto& other : registry.entries()) {
      Diagnostics ignored;
      const Value none;
      TableReader probe(none, ignored, "");
      ignored.attempt([&] { (void)other.make(probe, arguments...); });
      const bool has_it = std::ranges::find(probe.asked(), key) != probe.asked().end();
      if (has_it) owners.push_back(other.name);
    }
    if (owners.empty()) continue;
    (void)options.find(key);
    options.fail(key, fmt::format("is an option of the {} {}, not of {}", registry.kind(),
                                  fmt::join(owners, ", "), choice.name));
  }
}

/// Makes the variant that `choice` names and reports options it does not know.
template <class Factory, class... Arguments>
auto make_variant(const Registry<Factory>& registry, const VariantChoice& choice,
                  const std::string& table_name, Arguments&&... arguments) {
  const auto& entry = registry.find(choice.name, choice.position);
  Diagnostics found, diagnostics;
  TableReader options(choice.options, found, table_name);
  options.also_known(choice.table_keys);
  auto made = entry.make(options, arguments...);
  explain_foreign_options(registry, choice, options, arguments...);
  options.finish(table_of_key);
  try {
    found.throw_if_any();
  } catch (const ConfigError& error) {
    report_as_written(error, table_name, choice.written_as, diagnostics);
  }
  diagnostics.throw_if_any();
  return made;
}

}  // namespace foretoken
