#include "sim/deployments/launched_drafts.hpp"

#include <algorithm>
#include <cctype>

#include "sim/base/nearest_name.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/scenario/recorded_names.hpp"

namespace foretoken {
namespace {

/// Of drafts, where a launch line cannot say: what measured heads reach on ordinary text.
constexpr double acceptance_assumed = 0.7;

/// How much is drafted at a time. Of a tree (topk from 2), its root is among the verified tokens.
struct DraftAmount {
  std::int64_t drafts = 1, topk = 1, verified = 0;
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

class DraftReader {
 public:
  DraftReader(const LaunchedServer& server, const Launcher& launcher, const Transformer& model)
      : server_(server), launcher_(launcher), flags_(launcher.speculative), model_(model) {}

  std::optional<LaunchedDrafts> read() const {
    const Value* config = flags_.config.empty() ? nullptr : server_.find(flags_.config);
    const Value* method = setting(flags_.method);
    if (config == nullptr && method == nullptr) return std::nullopt;
    if (config != nullptr && !config->is_object()) {
      throw ConfigError(config->position,
                        fmt::format("{} must be an object, as '{{\"{}\": …}}'",
                                    launcher_.spelt(flags_.config), flags_.method));
    }
    LaunchedDrafts drafts;
    const std::string here = method_here(method, config);
    const DraftAmount amount = amount_of(here, drafts.notes);
    drafts.table.set("method", here);
    drafts.table.set("drafts", amount.drafts);
    drafts.meaning =
        fmt::format("[engine.speculative] method = {}, drafts = {}", here, amount.drafts);
    if (amount.topk > 1) set_tree(amount, drafts);
    drafts.table.set("acceptance", acceptance_assumed);
    if (const Value* model = setting(flags_.model); here == "draft_model" && model != nullptr)
      drafts.table.set("model", model_called(launch_value_text(*model), model->position));
    drafts.flags = given();
    drafts.notes.push_back(fmt::format(
        "a launch command does not define draft acceptance: {} is assumed for each draft "
        "(engine.speculative.acceptance)",
        acceptance_assumed));
    return drafts;
  }

 private:
  /// The member of the drafts' flags, or nullptr.
  [[nodiscard]] const Value* setting(const std::string& name) const {
    if (name.empty()) return nullptr;
    if (flags_.config.empty()) return server_.find(name);
    const Value* config = server_.find(flags_.config);
    return config == nullptr || !config->is_object() ? nullptr : config->find(name);
  }

  [[nodiscard]] std::string method_here(const Value* method, const Value* config) const {
    const Value* draft = setting(flags_.model);
    if (method == nullptr && draft != nullptr) {
      const std::string name = lower(launch_value_text(*draft));
      for (const auto& [part, ours] : flags_.named)
        if (name.find(part) != std::string::npos) return ours;
    }
    const std::string there = method != nullptr ? launch_value_text(*method) : "draft_model";
    if (std::ranges::find(flags_.own_module, there) != flags_.own_module.end()) {
      if (model_.mtp_layers > 0) return "mtp";
      if (draft != nullptr) return "eagle";
    }
    std::string here = second_of(flags_.methods, there);
    if (!here.empty()) return here;
    std::vector<std::string_view> known;
    for (const auto& [name, ours] : flags_.methods) known.push_back(name);
    throw ConfigError(method != nullptr ? method->position : config->position,
                      unknown_name_message("method of drafting", there, known));
  }

  [[nodiscard]] std::vector<std::string> given() const {
    std::vector<std::string> names = {flags_.config};
    if (flags_.config.empty()) {
      names = {flags_.method, flags_.drafts, flags_.model};
      std::ranges::copy(flags_.also_drafts, std::back_inserter(names));
    }
    std::erase_if(names, [&](const std::string& name) { return server_.find(name) == nullptr; });
    return names;
  }

  /// What the flags say, or else what the engine chooses; `notes` are told where none says it.
  DraftAmount amount_of(const std::string& method, std::vector<std::string>& notes) const {
    DraftAmount said{0, number(flags_.topk).value_or(1), number(flags_.verified).value_or(0)};
    std::vector<std::string> names = {flags_.drafts};
    std::ranges::copy(flags_.also_drafts, std::back_inserter(names));
    for (const std::string& name : names)
      if (said.drafts == 0) said.drafts = number(name).value_or(0);
    if (said.drafts > 0) return said;
    const bool is_chosen = method != "ngram" && flags_.chain > 0;
    const DraftAmount usual = is_chosen ? chosen(method) : DraftAmount{};
    notes.push_back(
        fmt::format("no flag says how much is drafted: drafts = {}{} is {}", usual.drafts,
                    usual.topk > 1 ? fmt::format(", topk = {}", usual.topk) : std::string(),
                    is_chosen ? launcher_.product + "'s choice" : "assumed"));
    return usual;
  }

  [[nodiscard]] DraftAmount chosen(const std::string& method) const {
    const std::string name = lower(model_.name);
    const bool is_tree =
        method == "eagle" && std::ranges::any_of(flags_.tree_models, [&](const std::string& part) {
          return name.find(part) != std::string::npos;
        });
    if (!is_tree) return {flags_.chain};
    return {flags_.tree[0], flags_.tree[1], flags_.tree[2]};
  }

  /// A number of the flags, from 1 on; nullopt where it is not given.
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& name) const {
    const Value* value = setting(name);
    if (value == nullptr) return std::nullopt;
    const auto* whole = std::get_if<std::int64_t>(&value->data);
    if (whole == nullptr || *whole < 1) {
      throw ConfigError(value->position, fmt::format("{} must be a whole number from 1, not {}",
                                                     name, launch_value_text(*value)));
    }
    return *whole;
  }

  /// Several candidates a position: a tree, whose root is among the tokens that are verified.
  static void set_tree(const DraftAmount& amount, LaunchedDrafts& drafts) {
    const std::int64_t topk = amount.topk;
    const std::int64_t most = topk + (amount.drafts - 1) * topk * topk;
    const std::int64_t tokens =
        amount.verified > 1 ? amount.verified - 1 : std::min<std::int64_t>(most, 63);
    drafts.table.set("topk", topk);
    drafts.table.set("tree_tokens", tokens);
    drafts.meaning += fmt::format(", topk = {}, tree_tokens = {}", topk, tokens);
  }

  const LaunchedServer& server_;
  const Launcher& launcher_;
  const SpeculativeFlags& flags_;
  const Transformer& model_;
};

}  // namespace

std::optional<LaunchedDrafts> launched_drafts(const LaunchedServer& server,
                                              const Launcher& launcher, const Transformer& model) {
  return DraftReader(server, launcher, model).read();
}

}  // namespace foretoken
