// foretoken calibrate-host: the host's constants of a server of one's own, fitted to runs that it
// served, and an engine preset with them. What recorded latencies do not tell stays as it was.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/app/recorded_run.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/app/sweep_progress.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/host_calibration.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

struct CalibrateOptions {
  std::vector<std::string> folders;
  RecordedSource source;
  std::string preset_path;
  std::size_t jobs = 0;
  bool json = false, quiet = false;
};

struct Recordings {
  std::vector<RecordedRun> runs;
  std::vector<std::string> notes;
  std::vector<std::filesystem::path> inputs;
  std::size_t requests = 0;
};

/// Runs of one server each of which could stand for the others.
void check_same_engine(const RecordedRun& first, const RecordedRun& run) {
  const EngineSettings& one = first.scenario.engine;
  const EngineSettings& other = run.scenario.engine;
  const std::string file = run.measured.file.string();
  if (other.preset.empty()) {
    throw ConfigError({file},
                      "its scenario names no engine preset to base the fitted times on; add --set "
                      "engine.preset=vllm-v1 or another of `foretoken engine list`");
  }
  if (one.preset == other.preset && one.version == other.version) return;
  throw ConfigError(
      {file}, fmt::format("was served by {} {}, but {} by {} {}; calibrate each one separately",
                          other.preset, other.version, first.measured.file.string(), one.preset,
                          one.version));
}

Recordings read_recordings(const CalibrateOptions& options) {
  Recordings read;
  for (const std::string& folder : options.folders) {
    RecordedRun run;
    run.measured = load_served_run(folder);
    std::vector<std::string> notes;
    run.scenario = scenario_of(options.source, run.measured, notes);
    if (run.measured.has_two_clocks) {
      notes.emplace_back(
          "arrivals and timestamps come from two clocks: time that every request spends outside "
          "the engine is not visible");
    }
    for (const std::string& note : notes)
      read.notes.push_back(fmt::format("{}: {}", run.measured.file.string(), note));
    std::ranges::move(inputs_of(options.source, run.measured), std::back_inserter(read.inputs));
    read.requests += run.measured.requests.size();
    read.runs.push_back(std::move(run));
    check_same_engine(read.runs.front(), read.runs.back());
  }
  return read;
}

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string recordings_text(const Recordings& recordings) {
  return fmt::format("{}, {}", counted(recordings.runs.size(), "recorded run"),
                     counted(recordings.requests, "request"));
}

/// The preset's name as a file elsewhere can name it.
std::string base_of(const std::string& preset) {
  const bool is_path = preset.find('/') != std::string::npos || preset.ends_with(".toml");
  return is_path ? std::filesystem::absolute(preset).lexically_normal().string() : preset;
}

std::string preset_text(const Recordings& recordings, const HostFit& fit) {
  const EngineSettings& engine = recordings.runs.front().scenario.engine;
  const EnginePreset base = load_engine_preset(engine.preset, {}).of_version(engine.version, {});
  std::string text = fmt::format(
      "# Host times of your own server, fitted by `foretoken calibrate-host` to {}.\n"
      "# Use it as [engine] preset = \"<this file>\".\n"
      "based_on = {}\nsummary = {}\nversion = {}\n\n[engine]\n",
      recordings_text(recordings), to_json(Value(base_of(engine.preset))),
      to_json(Value(base.summary + ", host times fitted to recorded runs")),
      to_json(Value(base.version)));
  const auto set = [&](std::string_view key, const std::string& value, const std::string& source) {
    text += fmt::format("{} = {{ value = {}, source = \"{}\" }}\n", key, value, source);
  };
  if (engine.host.speed != 1.0)
    set("host_speed", fmt::format("{}", engine.host.speed), "as in the recorded scenario");
  for (const HostConstant& constant : fit.constants) {
    const bool is_fitted = constant.fate == HostFate::fitted;
    if (!is_fitted && !(constant.after > Seconds(0.0))) continue;
    set(constant.key, fmt::format("\"{}\"", readable(constant.after)),
        is_fitted ? fmt::format("fitted to {}, standard deviation {}", recordings_text(recordings),
                                readable(constant.deviation))
                  : "unchanged: the runs do not determine it");
  }
  return text;
}

std::string kept_text(const HostConstant& constant) {
  switch (constant.fate) {
    case HostFate::fitted:
      return "";
    case HostFate::unseen:
      return "unchanged: not visible in these runs";
    case HostFate::alike:
      return fmt::format("unchanged: indistinguishable from {}", constant.like);
  }
  return "";
}

std::string fit_text(const Recordings& recordings, const HostFit& fit) {
  const EngineSettings& engine = recordings.runs.front().scenario.engine;
  const std::string version = engine.version.empty() ? "" : " " + engine.version;
  std::string text = fmt::format("Host times of {}{} from {}\n\n", engine.preset, version,
                                 recordings_text(recordings));
  TextTable table({{"constant", Align::left},
                   {"before", Align::right},
                   {"fitted", Align::right},
                   {"+-", Align::right},
                   {.header = "", .folds = true}});
  for (const HostConstant& constant : fit.constants) {
    const bool is_fitted = constant.fate == HostFate::fitted;
    table.add_row({constant.key, readable(constant.before),
                   is_fitted ? readable(constant.after) : "",
                   constant.deviation > Seconds(0.0) ? readable(constant.deviation) : "",
                   kept_text(constant)});
  }
  text += table.text({.width = terminal_width(stdout), .colour = shows_colour(stdout)});
  text += fmt::format(
      "\n"
      "  RMS error of mean latencies: {:.1f} % (before: {:.1f} %)\n"
      "  GPU times fit best at {:.3f} (+- {:.3f}) times the predicted ones; they are left "
      "unchanged\n",
      fit.error_after * 100, fit.error_before * 100, fit.gpu, fit.gpu_deviation);
  for (const std::string& note : recordings.notes) text += "  " + note + "\n";
  return text;
}

Value fit_value(const Recordings& recordings, const HostFit& fit) {
  const EngineSettings& engine = recordings.runs.front().scenario.engine;
  ValueArray constants, notes;
  for (const HostConstant& constant : fit.constants) {
    Value entry;
    entry.set("key", constant.key);
    entry.set("before_s", constant.before.value());
    entry.set("after_s", constant.after.value());
    entry.set("fate", std::string(enum_name(constant.fate)));
    if (constant.deviation > Seconds(0.0)) entry.set("deviation_s", constant.deviation.value());
    if (constant.fate == HostFate::alike) entry.set("like", constant.like);
    constants.push_back(std::move(entry));
  }
  for (const std::string& note : recordings.notes) notes.emplace_back(note);
  Value value;
  value.set("preset", engine.preset);
  if (!engine.version.empty()) value.set("version", engine.version);
  value.set("runs", static_cast<std::int64_t>(recordings.runs.size()));
  value.set("requests", static_cast<std::int64_t>(recordings.requests));
  value.set("constants", std::move(constants));
  value.set("gpu_times", fit.gpu);
  value.set("gpu_times_deviation", fit.gpu_deviation);
  value.set("error_before", fit.error_before);
  value.set("error_after", fit.error_after);
  value.set("notes", std::move(notes));
  return value;
}

int calibrate(const CalibrateOptions& options) {
  const Recordings recordings = read_recordings(options);
  Outputs outputs(recordings.inputs);
  if (!options.preset_path.empty()) outputs.expect(options.preset_path);
  SweepProgress progress(!options.quiet && can_rewrite(stderr));
  const HostFit fit = calibrate_host(
      recordings.runs, Catalogs(), options.jobs, [&](std::size_t done, std::size_t asked) {
        progress.update({.wanted = asked, .finished = done, .leased = asked - done});
      });
  progress.clear();
  if (!options.preset_path.empty())
    outputs.write(options.preset_path, preset_text(recordings, fit));
  outputs.publish();
  if (options.json) {
    show_data(to_json(fit_value(recordings, fit)) + "\n");
  } else if (!options.quiet) {
    show("{}", fit_text(recordings, fit));
    if (!options.preset_path.empty())
      show("\nWrote {}: [engine] preset = \"{}\"\n", options.preset_path, options.preset_path);
  }
  return 0;
}

}  // namespace

void add_calibrate_host(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command = program.add_subcommand(
      "calibrate-host",
      "Fit the host (CPU) times of an engine preset to recorded runs of your server");
  command
      ->add_option(
          "folder", options->folders,
          "Recorded runs of one server, as for validate; several loads constrain the fit better")
      ->required();
  command->add_option("--out", options->preset_path,
                      "Write an engine preset with the fitted times to this TOML file");
  command->add_option("--model", options->source.model,
                      "Model: name, TOML file or config.json (default: as recorded)");
  command->add_option("--cluster", options->source.cluster,
                      "Cluster: name or TOML file (default: the recorded GPUs)");
  command->add_option("--from", options->source.launched.from,
                      "What served them: a launch command in quotes, a script or a manifest");
  add_set_option(*command, options->source.overrides);
  command->add_option("--jobs", options->jobs, "Parallel simulations (default: one per CPU)")
      ->check(above_zero());
  command->add_flag("--json", options->json, "Print the fit as JSON");
  command->add_flag("--quiet", options->quiet, "Print neither the table nor progress");
  command->footer(examples(
      "  foretoken calibrate-host examples/served --out my_host.toml\n"
      "  foretoken calibrate-host idle_run busy_run --cluster h100-sxm-8 --out my_host.toml\n"
      "  foretoken simulate examples/quickstart.toml --set engine.preset=my_host.toml\n"
      "Few requests with short and long prompts show the time before the engine; many at once\n"
      "show the time per step and sequence. GPU times are fitted too, close to the predicted "
      "ones."));
  command->callback([options, &chosen] { chosen = [options] { return calibrate(*options); }; });
}

}  // namespace foretoken
