#include "kernels/communication/engine_all_reduce.hpp"

#include <algorithm>
#include <array>

#include "sim/base/embedded.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"
#include "sim/base/unit_text.hpp"

namespace foretoken {

std::span<const EmbeddedFile> embedded_all_reduce();

namespace {

struct Kind {
  std::string_view algorithm;
  Protocol protocol;
};
constexpr auto kinds = std::to_array<Kind>(
    {{"one_shot", Protocol::one_shot}, {"two_shot", Protocol::two_shot}, {"nvls", Protocol::nvls}});

/// A power of two as people write it.
std::string size_text(double bytes) {
  constexpr std::int64_t kib = 1 << 10, mib = 1 << 20;
  const auto whole = static_cast<std::int64_t>(bytes);
  if (whole % mib == 0) return fmt::format("{} MiB", whole / mib);
  if (whole % kib == 0) return fmt::format("{} KiB", whole / kib);
  return fmt::format("{} B", whole);
}

AllReduceKernel read_kernel(const Value& value, Diagnostics& diagnostics) {
  AllReduceKernel kernel;
  if (!value.is_object()) {
    diagnostics.add(value.position,
                    "must be { algorithm = \"one_shot\", below = \"256 KiB\", launch = \"4 us\", "
                    "share = 0.7 }");
    return kernel;
  }
  TableReader table(value, diagnostics, "choice.kernels");
  table.require("algorithm", kernel.algorithm);
  table.expect("algorithm",
               std::ranges::find(kinds, kernel.algorithm, &Kind::algorithm) != kinds.end(),
               "must be one_shot, two_shot or nvls");
  Bytes below;
  table.require("below", below);
  kernel.bytes_below = below.value();
  table.expect("below", kernel.bytes_below > 0, "must be above 0");
  table.require("launch", kernel.costs.launch);
  table.expect("launch", kernel.costs.launch >= Seconds(0), "must not be negative");
  table.require("share", kernel.costs.share);
  table.expect("share", kernel.costs.share > 0 && kernel.costs.share <= 1,
               "must be above 0 and at most 1");
  table.finish();
  return kernel;
}

AllReduceChoice read_choice(const Value& value, Framework engine, Diagnostics& diagnostics) {
  AllReduceChoice choice;
  choice.engine = engine;
  if (!value.is_object()) {
    diagnostics.add(value.position, "must be a table: [[choice]]");
    return choice;
  }
  TableReader table(value, diagnostics, "choice");
  table.require("since", choice.since);
  table.require("fabric", choice.fabric);
  table.require("ranks", choice.ranks);
  table.expect("ranks", choice.ranks >= 2, "must be at least 2");
  const Value* list = table.find("kernels");
  const auto* kernels = list == nullptr ? nullptr : std::get_if<ValueArray>(&list->data);
  table.expect("kernels", kernels != nullptr && !kernels->empty(), "must be a list of kernels");
  if (kernels != nullptr) {
    for (const Value& kernel : *kernels) choice.kernels.push_back(read_kernel(kernel, diagnostics));
    table.expect("kernels",
                 std::ranges::is_sorted(choice.kernels, {}, &AllReduceKernel::bytes_below),
                 "must go from small messages to large");
  }
  table.finish();
  return choice;
}

}  // namespace

Protocol AllReduceKernel::protocol() const {
  const auto found = std::ranges::find(kinds, algorithm, &Kind::algorithm);
  FORETOKEN_CHECK(found != kinds.end(), "no protocol of {}", algorithm);
  return found->protocol;
}

const AllReduceKernel* AllReduceChoice::kernel_for(double bytes) const {
  const auto found = std::ranges::find_if(
      kernels, [&](const AllReduceKernel& kernel) { return bytes < kernel.bytes_below; });
  return found == kernels.end() ? nullptr : &*found;
}

std::string engine_all_reduce(std::string_view asked, Framework engine, std::string_view version) {
  if (asked != "auto") return std::string(asked);
  if (engine == Framework::pytorch) return "nccl";
  const std::string_view name = enum_name(engine);
  return version.empty() ? std::string(name) : fmt::format("{}-{}", name, version);
}

bool starts_nccl_with_nvls(Framework engine) { return engine != Framework::sglang; }

const AllReduceChoices& AllReduceChoices::built_in() {
  static const AllReduceChoices all = [] {
    std::vector<AllReduceChoice> choices;
    for (const EmbeddedFile& file : embedded_all_reduce()) {
      const Value root =
          parse_toml(file.text, fmt::format("hardware/specs/all_reduce/{}.toml", file.stem));
      std::ranges::move(read_all_reduce_choices(root), std::back_inserter(choices));
    }
    return AllReduceChoices(std::move(choices));
  }();
  return all;
}

const AllReduceChoice* AllReduceChoices::find(const EngineVersion& asked, std::string_view fabric,
                                              int ranks) const {
  const AllReduceChoice* best = nullptr;
  const auto is_better = [&](const AllReduceChoice& one) {
    if (best == nullptr || one.ranks < best->ranks) return true;
    if (one.ranks > best->ranks) return false;
    return is_nearer(asked.version, one.since, best->since);
  };
  for (const AllReduceChoice& choice : choices_) {
    if (choice.engine != asked.engine || choice.fabric != fabric || choice.ranks < ranks) continue;
    if (is_better(choice)) best = &choice;
  }
  return best;
}

bool AllReduceChoices::knows(Framework engine, std::string_view fabric) const {
  return std::ranges::any_of(choices_, [&](const AllReduceChoice& choice) {
    return choice.engine == engine && choice.fabric == fabric;
  });
}

std::vector<AllReduceChoice> read_all_reduce_choices(const Value& root) {
  Diagnostics diagnostics;
  TableReader top(root, diagnostics, "");
  Framework engine{};
  top.require("engine", engine);
  std::vector<AllReduceChoice> choices;
  const Value* list = top.find("choice");
  const auto* elements = list == nullptr ? nullptr : std::get_if<ValueArray>(&list->data);
  top.expect("choice", elements != nullptr, "must be [[choice]] tables");
  if (elements != nullptr) {
    for (const Value& element : *elements)
      choices.push_back(read_choice(element, engine, diagnostics));
  }
  top.finish();
  diagnostics.throw_if_any();
  return choices;
}

std::string all_reduce_toml(Framework engine, std::span<const AllReduceChoice> choices) {
  std::string text = fmt::format("engine = \"{}\"\n", enum_name(engine));
  for (const AllReduceChoice& choice : choices) {
    if (choice.engine != engine) continue;
    text += fmt::format("\n[[choice]]\nsince = \"{}\"\nfabric = \"{}\"\nranks = {}\nkernels = [\n",
                        choice.since, choice.fabric, choice.ranks);
    for (const AllReduceKernel& kernel : choice.kernels) {
      text += fmt::format(
          "  {{ algorithm = \"{}\", below = \"{}\", launch = \"{:.3g} us\", share = {:.3g} }},\n",
          kernel.algorithm, size_text(kernel.bytes_below), kernel.costs.launch.value() * 1e6,
          kernel.costs.share);
    }
    text += "]\n";
  }
  return text;
}

}  // namespace foretoken
