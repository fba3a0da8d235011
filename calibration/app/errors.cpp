// foretoken-calibrate errors: the table of held-out errors that reports take their intervals from.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "calibration/app/subcommand.hpp"
#include "calibration/evaluate/error_table.hpp"
#include "calibration/say.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

struct ErrorsCommand {
  std::string seen, gpu, comm, silicon, keep, out;
};

const std::vector<std::string> provenance = {
    "How far prices are off on data that no fit has seen: mean absolute relative errors. Written "
    "by",
    "  foretoken-calibrate evaluate --predictor synperf,roofline,linear,neusight,wave \\",
    "      --json seen.json",
    "  foretoken-calibrate evaluate --split gpu --predictor synperf,roofline,linear,neusight,wave "
    "\\",
    "      --jobs 14 --json gpu.json",
    "  foretoken-calibrate evaluate --comm --json comm.json",
    "  foretoken validate --silicon FORETOKEN_DATA/serving/silicon_agg_h100.csv.gz \\",
    "      --servers examples/servers/public.toml --json > silicon.json",
    "  foretoken-calibrate errors --seen seen.json --gpu gpu.json --comm comm.json \\",
    "      --silicon silicon.json --out sim/report/tables/predictor_errors.toml",
    "or, the held-out errors alone (minutes instead of hours), with --seen and --keep of this "
    "file.",
    "error: layouts held out, on GPUs that were measured (gpus). unseen: each GPU left out in "
    "turn;",
    "where a family was measured on one GPU only, 2.5 times error, as synperf itself takes it.",
    "Where a family has several kernels, that of the largest error. all.communication: NCCL's",
    "all-reduce by the closed forms, 8 GPUs from 2 and 4, and GPUs left out. all.host: on servers",
    "that host times were not calibrated on, by how much these would have to change if all that is",
    "missing of measured TPOTs were the CPU's; the data cannot tell it from GPU time.",
    "all.server_*: what nine of ten servers that settings were chosen on are off by, as the mean",
    "error of which that is half an interval (comparisons with real servers are as wide)."};

Value loaded(const std::string& path) {
  Value value = load_json(path);
  value.position = {path};
  return value;
}

int errors(const ErrorsCommand& command) {
  std::vector<HeldOutError> kept;
  if (!command.keep.empty()) kept = read_error_table(load_toml(command.keep));
  const auto is_anew = [&](const std::string& path, const char* option) {
    if (!path.empty() || !command.keep.empty()) return !path.empty();
    throw ConfigError({option}, "is missing; give it, or a table that has its errors with --keep");
  };
  std::vector<HeldOutError> table;
  const auto take = [&table](std::vector<HeldOutError> errors) {
    std::ranges::move(errors, std::back_inserter(table));
  };
  take({is_anew(command.comm, "--comm") ? communication_error(loaded(command.comm))
                                        : find_error(kept, "all", "communication")});
  if (is_anew(command.silicon, "--silicon")) {
    take({host_error(loaded(command.silicon))});
    take(server_errors(loaded(command.silicon)));
  } else {
    for (const char* name : {"host", "server_ttft", "server_tpot"})
      take({find_error(kept, "all", name)});
  }
  take(is_anew(command.gpu, "--gpu") ? kernel_errors(loaded(command.seen), loaded(command.gpu))
                                     : kernel_errors(loaded(command.seen), kept));
  const std::string text = error_table_text(table, provenance);
  if (command.out.empty()) {
    say("{}", text);
    return 0;
  }
  write_file(command.out, text);
  say("{} errors -> {}\n", table.size(), command.out);
  return 0;
}

}  // namespace

void add_errors(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "errors", "Write the table of held-out errors that report intervals are based on");
  auto command = std::make_shared<ErrorsCommand>();
  const auto input = [&](const char* name, std::string& path, const char* text) {
    return subcommand->add_option(name, path, text)->check(CLI::ExistingFile);
  };
  input("--seen", command->seen, "Output of evaluate --json")->required();
  input("--gpu", command->gpu, "Output of evaluate --split gpu --json");
  input("--comm", command->comm, "Output of evaluate --comm --json");
  input("--silicon", command->silicon, "Output of foretoken validate --silicon --json");
  input("--keep", command->keep, "Earlier table: errors without new input are kept from it");
  subcommand->add_option("--out", command->out, "Write the table here instead of printing it");
  subcommand->callback([command, &chosen] { chosen = [command] { return errors(*command); }; });
}

}  // namespace foretoken
