// load_traffic(): finds out which family and format files are of, and has them summed up.
#include <algorithm>

#include "workloads/requests/statistics_format.hpp"

namespace foretoken {
namespace {

/// The entry whose format `file` is in; nullptr if none is.
const StatisticsRegistry::Entry* recognised(const StatisticsRegistry& registry,
                                            const std::filesystem::path& file) {
  TextLines lines(file);
  const TraceHead head = trace_head(lines);
  for (const auto& entry : registry.entries())
    if (entry.make()->recognises(head)) return &entry;
  return nullptr;
}

ObservedTraffic observed_trace(const std::vector<std::filesystem::path>& files,
                               std::string_view format, const StatisticsOptions& options,
                               bool skip_bad_lines) {
  if (files.size() > 1)
    throw ConfigError({files[1].string()}, "only one trace can be read at a time; name one file");
  if (options.over || options.window)
    throw ConfigError({options.over ? "--over" : "--window"},
                      "has no effect on a trace, whose requests have their own times; remove it");
  return observed(*load_trace(files[0], format, skip_bad_lines, trace_format_registry()));
}

}  // namespace

bool is_statistics(const std::filesystem::path& file) {
  const StatisticsRegistry registry = statistics_registry();
  return recognised(registry, file) != nullptr;
}

ObservedTraffic load_traffic(const std::vector<std::filesystem::path>& files,
                             std::string_view format, const StatisticsOptions& options,
                             bool skip_bad_lines) {
  const StatisticsRegistry registry = statistics_registry();
  const auto named =
      std::ranges::find(registry.entries(), format, &StatisticsRegistry::Entry::name);
  const StatisticsRegistry::Entry* entry = named != registry.entries().end() ? &*named
                                           : format.empty() ? recognised(registry, files[0])
                                                            : nullptr;
  if (entry == nullptr) return observed_trace(files, format, options, skip_bad_lines);
  ObservedTraffic traffic = entry->make()->read(files, options);
  traffic.format = entry->name;
  return traffic;
}

}  // namespace foretoken
