#include "sim/app/step_output.hpp"

#include <fmt/format.h>

#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"
#include "sim/terminal/terminal.hpp"
#include "workloads/encoder_kernels.hpp"
#include "workloads/routing_source.hpp"

namespace foretoken {
namespace {

Value kernels_value(const std::vector<StepKernel>& kernels) {
  ValueArray rows;
  for (const StepKernel& kernel : kernels) {
    Value row;
    row.set("name", kernel.role);
    row.set("kernel", kernel.kernel);
    if (!kernel.algorithm.empty()) row.set("algorithm", kernel.algorithm);
    row.set("calls", kernel.calls);
    row.set("time_us", rounded(kernel.time.value() * 1e6));
    if (kernel.hidden > Seconds(0.0)) row.set("hidden_us", rounded(kernel.hidden.value() * 1e6));
    row.set("bound_by", std::string(enum_name(kernel.bound_by)));
    row.set("origin", std::string(enum_name(kernel.origin)));
    rows.push_back(std::move(row));
  }
  return rows;
}

Value drafts_value(const std::vector<DraftPasses>& drafts) {
  ValueArray rows;
  for (const DraftPasses& draft : drafts) {
    Value row;
    row.set("passes", draft.passes);
    row.set("time_us", rounded(draft.time().value() * 1e6));
    row.set("kernels", kernels_value(draft.kernels));
    rows.push_back(std::move(row));
  }
  return rows;
}

Value routing_value(const Routing& routing) {
  return ValueObject{{"routing", routing_text(routing)},
                     {"source", std::string(routing_source(routing.kind))}};
}

Value exchange_value(const SettledExchange& settled) {
  Value value;
  value.set("prompts", std::string(enum_name(settled.exchange.prompts)));
  value.set("decodes", std::string(enum_name(settled.exchange.decodes)));
  if (!settled.chosen_by.empty()) value.set("chosen_by", settled.chosen_by);
  return value;
}

Value sides_value(const StepCost& cost) {
  Value value;
  value.set("micro_batches", cost.micro_batches);
  value.set("attention_us", rounded(cost.sides->attention.value() * 1e6));
  value.set("experts_us", rounded(cost.sides->experts.value() * 1e6));
  value.set("links_us", rounded(cost.sides->links.value() * 1e6));
  return value;
}

/// They overlap, so that the total is less than the sum of the kernels.
std::string sides_text(const StepCost& cost) {
  const auto part = [&](std::string_view side, Seconds time) {
    return fmt::format("{} {:.1f} us ({:.0f} %)", side, time.value() * 1e6,
                       100.0 * (time / cost.sides->step));
  };
  return fmt::format("{} micro-batch{} in turn: {} busy, {}, {}", cost.micro_batches,
                     cost.micro_batches == 1 ? "" : "es", part("attention", cost.sides->attention),
                     part("experts", cost.sides->experts), part("links", cost.sides->links));
}

/// What stands in front of the kernels of a draft's passes: "draft 2-3: ".
std::string draft_label(const DraftPasses& draft, std::size_t index) {
  if (index == 0) return "draft: ";
  return draft.passes == 1 ? "draft 2: " : fmt::format("draft 2-{}: ", draft.passes + 1);
}

/// "all_reduce two_shot"
std::string type_text(const StepKernel& kernel) {
  return kernel.algorithm.empty() ? kernel.kernel
                                  : fmt::format("{} {}", kernel.kernel, kernel.algorithm);
}

std::string batch_text(const BatchShape& batch) {
  const LoadSums& decode = batch.attention.decode;
  std::string text =
      fmt::format("{} of {}", counted(batch.tokens, "new token"),
                  counted(batch.attention.prefill.sequences + decode.sequences, "sequence"));
  if (batch.attention.verifies_drafts()) {
    text += fmt::format(", {} of them drafts", decode.query_tokens - decode.sequences);
  }
  if (batch.adapters > 0) text += fmt::format(", {} adapters", batch.adapters);
  return text;
}

std::int64_t tokens_of(const std::vector<MediaPatches>& items) {
  std::int64_t tokens = 0;
  for (const MediaPatches& item : items) tokens += item.tokens;
  return tokens;
}

/// "2 images of 920 tokens", or of as many as they have together where they differ.
std::string items_text(const std::vector<MediaPatches>& items, std::string_view noun) {
  const std::int64_t tokens = tokens_of(items);
  const auto count = std::ssize(items);
  const std::string nouns = fmt::format("{}{}", noun, count == 1 ? "" : "s");
  return tokens == count * items.front().tokens
             ? fmt::format("{} {} of {} tokens", count, nouns, items.front().tokens)
             : fmt::format("{} {}, {} tokens in all", count, nouns, tokens);
}

std::string encoded_text(const std::vector<MediaPatches>& media) {
  const auto images = of_medium(Medium::image, media), clips = of_medium(Medium::audio, media);
  if (clips.empty()) return items_text(images, "image");
  const std::string text = items_text(clips, "audio clip");
  return images.empty() ? text : items_text(images, "image") + " and " + text;
}

Seconds time_of(const std::vector<StepKernel>& kernels) {
  Seconds sum;
  for (const StepKernel& kernel : kernels) sum += kernel.time;
  return sum;
}

/// Of kernels on other streams, behind those of their layers that everything waits for.
Seconds hidden_time(const StepCost& cost) {
  Seconds sum;
  for (const auto& stage : cost.stages) {
    for (const StepKernel& kernel : stage) sum += kernel.hidden;
  }
  return sum;
}

}  // namespace

Value step_value(const StepCost& cost, const StepCircumstances& circumstances) {
  const double host_us = circumstances.host_us;
  Value value;
  const double compute_us = cost.compute().value() * 1e6;
  const double communication_us = cost.communication().value() * 1e6;
  value.set("total_us", rounded(cost.time().value() * 1e6 + host_us));
  value.set("compute_us", rounded(compute_us));
  value.set("communication_us", rounded(communication_us));
  value.set("host_us", host_us);
  if (cost.sides) value.set("sides", sides_value(cost));
  value.set("cold", circumstances.is_cold);
  if (circumstances.routing) value.set("expert_routing", routing_value(*circumstances.routing));
  if (circumstances.exchange) value.set("expert_exchange", exchange_value(*circumstances.exchange));
  std::vector<StepKernel> all;
  for (const auto& stage : cost.stages) all.insert(all.end(), stage.begin(), stage.end());
  value.set("kernels", kernels_value(all));
  if (!cost.encoder.empty()) {
    const auto images = of_medium(Medium::image, circumstances.media);
    const auto clips = of_medium(Medium::audio, circumstances.media);
    Value encoder;
    encoder.set("images", std::ssize(images));
    encoder.set("image_tokens", tokens_of(images));
    if (!clips.empty()) {
      encoder.set("audio_clips", std::ssize(clips));
      encoder.set("audio_tokens", tokens_of(clips));
    }
    encoder.set("time_us", rounded(time_of(cost.encoder).value() * 1e6));
    encoder.set("kernels", kernels_value(cost.encoder));
    value.set("encoder", std::move(encoder));
  }
  if (!cost.drafts.empty()) value.set("drafts", drafts_value(cost.drafts));
  if (cost.stages.size() > 1) {
    ValueArray stages;
    for (std::size_t i = 0; i < cost.stages.size(); ++i) {
      Value stage;
      stage.set("stage", static_cast<int>(i));
      stage.set("compute_us", rounded(cost.compute(i).value() * 1e6));
      stage.set("communication_us", rounded(cost.communication(i).value() * 1e6));
      stage.set("kernels", kernels_value(cost.stages[i]));
      stages.push_back(std::move(stage));
    }
    value.set("stages", std::move(stages));
  }
  return value;
}

void print_step(const std::string& model, const StepCost& cost, const BatchShape& batch,
                const StepCircumstances& circumstances) {
  const double host_us = circumstances.host_us;
  const Ink ink(shows_colour(stdout));
  const double total_us = cost.time().value() * 1e6 + host_us;
  show("{}\n", ink.strong(fmt::format("One step of {}: {}", model, batch_text(batch))));
  TextTable table({{"kernel", Align::left},
                   {"type", Align::left},
                   {"calls", Align::right},
                   {"time us", Align::right},
                   {"share", Align::right},
                   {"bound by", Align::left},
                   {"price from", Align::left}});
  const auto add_rows = [&](const std::string& label, const std::vector<StepKernel>& kernels) {
    for (const StepKernel& kernel : kernels) {
      const double time_us = kernel.time.value() * 1e6;
      table.add_row(
          {label + kernel.role, type_text(kernel), fmt::format("{}", kernel.calls),
           fmt::format("{:.1f}", time_us), fmt::format("{:.1f} %", 100.0 * time_us / total_us),
           std::string(enum_name(kernel.bound_by)), std::string(enum_name(kernel.origin))});
    }
  };
  add_rows("", cost.encoder);
  for (std::size_t i = 0; i < cost.stages.size(); ++i) {
    add_rows(cost.stages.size() > 1 ? fmt::format("{}: ", i) : "", cost.stages[i]);
  }
  for (std::size_t i = 0; i < cost.drafts.size(); ++i) {
    add_rows(draft_label(cost.drafts[i], i), cost.drafts[i].kernels);
  }
  table.set_total({"total", "", "", fmt::format("{:.1f}", total_us), "", "", ""});
  show("{}", table.text({.width = terminal_width(stdout), .colour = shows_colour(stdout)}));
  show("  compute {:.1f} us, communication {:.1f} us, host {:.1f} us\n",
       cost.compute().value() * 1e6, cost.communication().value() * 1e6, host_us);
  if (const Seconds hidden = hidden_time(cost); hidden > Seconds(0.0)) {
    show("  plus {:.1f} us on other streams, hidden behind the kernels above\n",
         hidden.value() * 1e6);
  }
  if (cost.sides) show("  {}\n", sides_text(cost));
  show("  {}\n", circumstances.is_cold ? "cold: weights and KV cache come from DRAM"
                                       : "warm: weights and KV cache are in L2 where they fit");
  if (circumstances.routing) {
    show("  expert routing {} ({})\n", routing_text(*circumstances.routing),
         routing_source(circumstances.routing->kind));
  }
  if (circumstances.exchange) {
    show("  expert exchange by {}\n", exchange_text(circumstances.exchange->exchange));
    if (!circumstances.exchange->chosen_by.empty())
      show("    as {}\n", circumstances.exchange->chosen_by);
  }
  if (!cost.encoder.empty()) {
    show("  including {1:.1f} us to encode {0}, whose tokens count as prompt tokens\n",
         encoded_text(circumstances.media), time_of(cost.encoder).value() * 1e6);
  }
  if (cost.drafts.empty()) return;
  Seconds drafting;
  int passes = 0;
  for (const DraftPasses& draft : cost.drafts) {
    drafting += draft.time();
    passes += draft.passes;
  }
  show("  including {:.1f} us of drafting in {} pass{}\n", drafting.value() * 1e6, passes,
       passes == 1 ? "" : "es");
}

}  // namespace foretoken
