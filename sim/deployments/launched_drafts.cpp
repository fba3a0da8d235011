#include "sim/deployments/launched_drafts.hpp"

#include <algorithm>

#include "sim/base/nearest_name.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/scenario/recorded_names.hpp"

namespace foretoken {
namespace {

/// Of drafts, where a launch line cannot say: what measured heads reach on ordinary text.
constexpr double acceptance_assumed = 0.7;

class DraftReader {
 public:
  DraftReader(const LaunchedServer& server, const Launcher& launcher)
      : server_(server), launcher_(launcher), flags_(launcher.speculative) {}

  std::optional<LaunchedDrafts> read() const {
    const Value* config = flags_.config.empty() ? nullptr : server_.find(flags_.config);
    const Value* method = setting(flags_.method);
    if (config == nullptr && method == nullptr) return std::nullopt;
    if (config != nullptr && !config->is_object()) {
      throw ConfigError(config->position,
                        fmt::format("{} must be an object, as '{{\"{}\": …}}'",
                                    launcher_.spelt(flags_.config), flags_.method));
    }
    const std::string here = method_here(method, config);
    LaunchedDrafts drafts;
    drafts.table.set("method", here);
    drafts.table.set("drafts", count());
    set_tree(drafts.table);
    drafts.table.set("acceptance", acceptance_assumed);
    if (const Value* model = setting(flags_.model); here == "draft_model" && model != nullptr)
      drafts.table.set("model", model_called(launch_value_text(*model), model->position));
    drafts.flags = given();
    drafts.meaning = fmt::format("[engine.speculative] method = {}, drafts = {}", here, count());
    if (const Value* topk = drafts.table.find("topk")) {
      drafts.meaning +=
          fmt::format(", topk = {}, tree_tokens = {}", std::get<std::int64_t>(topk->data),
                      std::get<std::int64_t>(drafts.table.find("tree_tokens")->data));
    }
    drafts.note = fmt::format(
        "a launch command does not define draft acceptance: {} is assumed for each draft "
        "(engine.speculative.acceptance)",
        acceptance_assumed);
    return drafts;
  }

 private:
  /// The member of the drafts' flags, or nullptr.
  [[nodiscard]] const Value* setting(const std::string& name) const {
    if (flags_.config.empty()) return server_.find(name);
    const Value* config = server_.find(flags_.config);
    return config == nullptr || !config->is_object() ? nullptr : config->find(name);
  }

  [[nodiscard]] std::string method_here(const Value* method, const Value* config) const {
    const std::string there = method != nullptr ? launch_value_text(*method) : "draft_model";
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

  /// Several candidates a position: a tree, whose root is among the tokens that are verified.
  void set_tree(Value& table) const {
    const auto whole = [&](const std::string& name) {
      const Value* value = name.empty() ? nullptr : setting(name);
      const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->data);
      return number == nullptr ? std::int64_t{0} : *number;
    };
    const std::int64_t topk = whole(flags_.topk), verified = whole(flags_.verified);
    if (topk < 2) return;
    const std::int64_t most = topk + std::int64_t{count() - 1} * topk * topk;
    table.set("topk", topk);
    table.set("tree_tokens", verified > 1 ? verified - 1 : std::min<std::int64_t>(most, 63));
  }

  [[nodiscard]] int count() const {
    std::vector<std::string> names = {flags_.drafts};
    std::ranges::copy(flags_.also_drafts, std::back_inserter(names));
    for (const std::string& name : names) {
      const Value* value = setting(name);
      const auto* whole = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->data);
      if (whole != nullptr && *whole >= 1) return static_cast<int>(*whole);
    }
    return 1;
  }

  const LaunchedServer& server_;
  const Launcher& launcher_;
  const SpeculativeFlags& flags_;
};

}  // namespace

std::optional<LaunchedDrafts> launched_drafts(const LaunchedServer& server,
                                              const Launcher& launcher) {
  return DraftReader(server, launcher).read();
}

}  // namespace foretoken
