#include "calibration/tune/evaluation.hpp"

#include <algorithm>
#include <array>

#include "sim/base/fingerprint.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken::tune {
namespace {

constexpr std::array<std::string_view, 8> status_names{
    "ok", "wrong", "compile_error", "launch_failure", "fault", "timeout", "crash", "malformed"};

}  // namespace

Candidate candidate_at(const Problem& problem, State state) {
  Names constants = constants_at(problem, state);
  return {{}, problem.launches, std::move(constants), std::move(state)};
}

Candidate complete(const Problem& problem, Candidate candidate) {
  if (candidate.source.empty()) candidate.source = source_of(problem, candidate.state);
  return candidate;
}

std::string identity_of(const Candidate& candidate) {
  Fingerprint fingerprint;
  fingerprint.add(candidate.source);
  for (const Launch& launch : candidate.launches) {
    fingerprint.add(launch.kernel).add(launch.when).add(launch.shared);
    for (const auto* texts : {&launch.grid, &launch.block, &launch.arguments}) {
      fingerprint.add(std::uint64_t{texts->size()});
      for (const std::string& text : *texts) fingerprint.add(text);
    }
  }
  return fmt::format("{:016x}", fingerprint.value());
}

std::string_view name_of(Status status) {
  return status_names.at(static_cast<std::size_t>(status));
}

Status status_named(std::string_view name, const SourcePosition& position) {
  const auto found = std::ranges::find(status_names, name);
  if (found == status_names.end()) {
    throw ConfigError(
        position, unknown_name_message("status", name, {status_names.begin(), status_names.end()}));
  }
  return static_cast<Status>(found - status_names.begin());
}

}  // namespace foretoken::tune
