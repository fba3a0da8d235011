// The table of held-out errors that a report's intervals come from
// (sim/report/tables/predictor_errors.toml), put together from what `evaluate` and `foretoken
// validate` wrote as JSON: by predictor and family, on GPUs that were measured and on one left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

/// A family of the table and those of `evaluate` that it stands for.
struct ErrorFamily {
  std::string_view name;
  std::vector<std::string_view> parts;
};
const std::vector<ErrorFamily>& error_families();

/// Mean absolute relative errors.
struct HeldOutError {
  std::string predictor, family;
  double error = 0;                // of layouts held out, on GPUs that were measured
  double unseen = 0;               // of a GPU that was left out
  bool is_unseen_assumed = false;  // only one GPU was measured: 2.5 times the error
  std::vector<std::string> gpus;
};

/// `seen` and `gpu`: what evaluate --json wrote of these splits. Where a family stands for several,
/// the larger error. A family that `seen` does not have is a ConfigError.
std::vector<HeldOutError> kernel_errors(const Value& seen, const Value& gpu);
/// The same where nobody left GPUs out anew: `kept` says how far off each family is on these. One
/// that it does not have is a ConfigError.
std::vector<HeldOutError> kernel_errors(const Value& seen, const std::vector<HeldOutError>& kept);
/// All-reduce by the closed forms, of evaluate --comm --json: 8 GPUs from 2 and 4, and the mean
/// over the GPUs left out.
HeldOutError communication_error(const Value& comm);
/// Mean over the servers that were not calibrated on, of validate --silicon --json.
HeldOutError host_error(const Value& silicon);

/// What nine of ten servers that settings were chosen on are off by, whatever the reason, as the
/// mean absolute error of which that is half an interval: "server_ttft" and "server_tpot".
std::vector<HeldOutError> server_errors(const Value& silicon);

/// What a table that was written earlier says. Anything else is a ConfigError.
std::vector<HeldOutError> read_error_table(const Value& table);
/// Of these, that of the predictor and family; a ConfigError where there is none.
const HeldOutError& find_error(const std::vector<HeldOutError>& errors, std::string_view predictor,
                               std::string_view family);

/// The table as TOML; `provenance` are comment lines without their marks.
std::string error_table_text(const std::vector<HeldOutError>& errors,
                             const std::vector<std::string>& provenance);

}  // namespace foretoken
