// How an engine is launched, as data (launchers/*.toml, embedded): the commands and images it is
// known by, short names of its flags, flags that a simulation leaves out although they matter, how
// it counts GPUs, and what an exported launch line looks like. What its flags set stands in its
// preset (sim/scenario/engine_preset.hpp).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/engine_preset.hpp"

namespace foretoken {

/// Names in the engine's words and here, in the order of the file.
using NamePairs = std::vector<std::pair<std::string, std::string>>;

/// The flags that say how a model is cut.
struct LayoutFlags {
  std::string tensor, pipeline, data, experts;
  std::string attention;  // switch for data parallel attention; "" = it follows from experts
  bool is_expert_switch = false;    // experts over all ranks or none; else a number
  bool counts_stage = false;        // the tensor flag counts attention ranks too
  std::string context;              // ranks that share contexts; "" = no flag says it
  bool context_multiplies = false;  // the tensor flag does not count them
  std::string prompts;              // groups that share prompts; "" = no flag says it
  std::string exchange;             // how tokens reach experts
  NamePairs exchanges;              // its values
  std::string balance;              // switch that lays experts out by load; "" = there is none
  std::string copies, copies_in;  // redundant experts, and the object that holds them, if one does
};

/// The flags that say how tokens are drafted.
struct SpeculativeFlags {
  std::string config;  // flag that holds the others as one object; "" = they are flags
  std::string method, drafts, model;
  std::vector<std::string> also_drafts;  // other names of the number
  std::string topk, verified;            // of a tree; "" = the engine drafts chains
  NamePairs methods;
  std::vector<std::string> own_module;  // of the model (mtp), where it has one
  NamePairs named;  // parts of drafts' names, in small letters, that tell an unnamed method
  // What the engine chooses where no flag says how much; 0 = nothing is known of it.
  int chain = 0;                         // drafts in a chain
  std::vector<int> tree;                 // drafts, candidates of each and tokens verified
  std::vector<std::string> tree_models;  // parts of the names of those that EAGLE drafts trees for
  int sequences_max = 0;  // that the engine sets where nobody does; 0 = what it sets without drafts
};

/// The flags that say which adapters (LoRA) are served beside the model; "" = no flag says it.
struct AdapterFlags {
  std::string serves;  // switch
  std::string on_gpu, on_host, rank;
  std::string names;  // the adapters themselves, which requests ask for
};

struct Launcher {
  std::string name, product;
  EnginePreset preset;
  std::vector<std::vector<std::string>> commands;  // words that begin the engine's arguments
  std::vector<std::string> images;                 // parts of images' names
  std::string image;                               // exported; the tag is the preset's version
  std::string launch;                              // "vllm serve {model}"
  std::string dynamo_module, dynamo_image;
  std::string bench;  // the load tool: bench_command.cpp
  int port = 8000;
  std::string model_flag;    // "" = the model has no flag of its own
  char separator = '-';      // between the words of a flag
  std::string options_flag;  // names a YAML file with flags; exported there, where not empty
  std::vector<std::string> also_options;
  bool options_win = false;  // over flags
  NamePairs options;         // path in that file, flag
  NamePairs aliases;         // other names of a flag
  NamePairs variables;       // of the environment, and the flags that they stand for
  std::vector<std::string> variable_prefixes;  // of those that are for the engine
  NamePairs matters;                           // flags that are not modelled, and what they change
  std::vector<std::string> switches;           // flags without a value
  std::vector<std::string> lists;              // flags with several
  LayoutFlags layout;
  SpeculativeFlags speculative;
  AdapterFlags adapters;
  std::string encoder_parallel;  // flag for how ranks share an image encoder; "" = there is none
  NamePairs quantizations, kv_dtypes, state_dtypes;  // formats in the engine's words

  /// A flag's first name, with underscores.
  [[nodiscard]] std::string canonical(std::string flag) const;
  [[nodiscard]] bool is_switch(const std::string& flag) const;
  /// "--max-num-seqs"
  [[nodiscard]] std::string spelt(const std::string& flag) const;
};

/// All, in the order of their names.
const std::vector<Launcher>& launchers();
/// Throws ConfigError at `asked_at` for an unknown name.
const Launcher& launcher_called(std::string_view name, const SourcePosition& asked_at);
/// The one whose preset that is, or nullptr.
const Launcher* launcher_of_preset(std::string_view preset);
/// The one that the image is of, or nullptr: "vllm/vllm-openai:v0.11.0".
const Launcher* launcher_of_image(std::string_view image);
/// "0.11.0" of "vllm/vllm-openai:v0.11.0"; "" where the tag is none, or the image is somebody
/// else's who counts versions of his own.
std::string version_of_image(std::string_view image);

/// The other name in a list of pairs, or "".
std::string second_of(const NamePairs& pairs, std::string_view first);
std::string first_of(const NamePairs& pairs, std::string_view second);

/// Where a built-in model was published: "meta-llama/Llama-3.1-70B"; "" = nobody knows.
std::string published_id(const std::string& model);

}  // namespace foretoken
