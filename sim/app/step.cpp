// foretoken step: prices one engine iteration and says which kernels it is made of.

#include <fmt/format.h>

#include "sim/app/step_output.hpp"
#include "sim/app/step_subject.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

int step(const StepOptions& options) {
  const StepSubject subject = step_subject(options);
  const BatchShape batch = step_batch(options, subject.layout, subject.drafts);
  StepCost cost = price_step(subject.model, subject.layout, subject.execution, subject.cluster,
                             subject.comm, *subject.predictor, batch, subject.nodes);
  if (subject.speculation) {
    cost.drafts = price_drafts(*subject.speculation, subject.layout, subject.execution,
                               subject.cluster, subject.comm, *subject.predictor, batch);
  }
  const std::vector<MediaPatches> media = step_media(options, subject);
  if (!media.empty()) {
    cost.encoder = price_media(subject.model, subject.layout, subject.execution, subject.cluster,
                               subject.comm, *subject.predictor, media);
  }
  StepCircumstances circumstances{subject.host_us, subject.execution.implementation.is_cold};
  circumstances.media = media;
  if (subject.model.moe) circumstances.routing = subject.execution.routing;
  if (subject.model.moe && subject.layout.groups() > 1 && subject.layout.expert_gpus == 0)
    circumstances.exchange = subject.exchange;
  if (options.json) {
    show_data(to_json(step_value(cost, circumstances)) + "\n");
  } else {
    print_step(subject.model_name, cost, batch, circumstances);
  }
  return 0;
}

}  // namespace

void add_step(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<StepOptions>();
  CLI::App* command =
      program.add_subcommand("step", "Predict the time of one engine iteration, kernel by kernel");
  command->add_option("--model", options->model, "Model: name, TOML file or config.json");
  command->add_option("--gpu", options->gpu, "GPU: name or TOML file");
  command->add_option("--cluster", options->cluster, "Cluster: name or TOML file");
  command->add_option("--tp", options->layout.tensor, "Tensor-parallel ranks")->check(above_zero());
  command->add_option("--pp", options->layout.pipeline, "Pipeline stages")->check(above_zero());
  command
      ->add_option("--dp", options->layout.data_parallel_attention,
                   "Data-parallel attention ranks, each with this batch")
      ->check(above_zero());
  command
      ->add_option("--dcp", options->layout.decode_context,
                   "Decode context parallelism: TP ranks that share the context of a KV head")
      ->check(above_zero());
  command
      ->add_option("--pcp", options->layout.prefill_context,
                   "Prefill context parallelism: TP groups that each compute part of every prompt")
      ->check(above_zero());
  command->add_option("--ep", options->layout.expert, "Expert-parallel ranks")->check(above_zero());
  command
      ->add_option("--expert-gpus", options->layout.expert_gpus,
                   "Dedicated GPUs for the experts (attention-FFN disaggregation)")
      ->check(above_zero());
  command
      ->add_option("--expert-micro-batches", options->expert_micro_batches,
                   "Micro-batches in turn between attention and experts")
      ->check(CLI::Range(1, 64));
  command->add_option("--dtype", options->dtype,
                      "Weight format: bf16, fp8, nvfp4 ... (default: as published)");
  command->add_option("--expert-dtype", options->expert_dtype, "Expert weight format");
  command->add_option("--kv-dtype", options->kv_dtype, "KV cache format");
  command->add_option("--predictor", options->predictor, "Predictor (see foretoken list)");
  command->add_option("--prefill", options->prefill, "Prompts: COUNTxTOKENS[@ALREADY_CACHED],...");
  command->add_option("--decode", options->decode, "Decoding sequences: COUNTxCONTEXT,...");
  command->add_option("--images", options->images,
                      "Images of the prompts that the step encodes: COUNTxWIDTHxHEIGHT,...");
  command->add_option("--audio", options->audio,
                      "Audio clips of the prompts that the step encodes: COUNTxSECONDS,...");
  command->add_flag("--encoder-data", options->encoder_by_data,
                    "Split images and clips among ranks whole, instead of sharding the encoder");
  CLI::Option* drafts =
      command->add_option("--drafts", options->drafts, "Draft tokens verified per decode")
          ->check(CLI::Range(0, 64));
  CLI::Option* speculate = command
                               ->add_option("--speculate", options->speculate,
                                            "Drafting method: draft_model, eagle, mtp or ngram")
                               ->needs(drafts);
  command->add_option("--draft-model", options->draft_model, "Draft model: name or TOML file")
      ->needs(speculate);
  command
      ->add_option("--draft-tp", options->draft_tensor, "Tensor-parallel ranks of the draft model")
      ->check(above_zero())
      ->needs(speculate);
  CLI::Option* adapters =
      command->add_option("--adapters", options->adapters, "Distinct LoRA adapters in the batch")
          ->check(above_zero());
  command->add_option("--adapter-rank", options->adapter_rank, "LoRA rank")
      ->check(CLI::Range(1, 1024))
      ->needs(adapters);
  command->add_option("--framework", options->framework,
                      "Kernels of this framework: vllm, sglang or trtllm");
  command->add_option("--sampling", options->sampling, "Sampling: greedy or top_p");
  command->add_flag("--warm", options->warm,
                    "Weights and KV cache start in L2 where they fit (default: cold)");
  command->add_option("--routing", options->routing,
                      "MoE: balanced, popularity:R, power_law:EXPONENT or balancedness:B");
  command->add_option("--block-tokens", options->block_tokens, "Tokens per KV block")
      ->check(above_zero());
  command->add_option("--host-us", options->host_us, "CPU time added to the step, in µs")
      ->check(zero_or_more());
  command->add_option("--communication", options->communication,
                      "Source of collective times: model (formulas) or measured (database)");
  command->add_option("--communication-fallback", options->fallback,
                      "Price of unmeasured collectives: none (an error) or model");
  command->add_option("--all-reduce", options->all_reduce,
                      "All-reduce algorithm: auto, nccl, ring, tree ...");
  command->add_option(
      "--expert-exchange", options->expert_exchange,
      "Token exchange with experts on other ranks: auto (the framework's), sglang-0.5.9, "
      "all_gather, all_reduce, all_to_all, deepep ...");
  // A scenario says all of that itself.
  const std::vector<CLI::Option*> settings =
      command->get_options([](const CLI::Option* option) { return !option->check_name("--help"); });
  CLI::Option* scenario = command->add_option(
      "--scenario", options->scenario,
      "Take model, cluster, layout, engine and predictor from this scenario instead");
  for (CLI::Option* setting : settings) {
    const bool is_of_batch = setting->check_name("--prefill") || setting->check_name("--decode") ||
                             setting->check_name("--images") || setting->check_name("--audio") ||
                             setting->check_name("--adapters");
    if (!is_of_batch) scenario->excludes(setting);
  }
  command->add_option("--pool", options->pool, "Pool of the scenario, such as prefill or decode")
      ->needs(scenario);
  command
      ->add_option("--set", options->overrides,
                   "Override a key of the scenario: table.key=value; repeatable")
      ->needs(scenario);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(examples(
      "  foretoken step --model llama-3.1-8b --gpu h200-sxm --decode 64x1024\n"
      "  foretoken step --model llama-3.1-70b --cluster h100-sxm-8 --tp 4 "
      "--prefill 1x2048,1x512@4096 --decode 32x2000\n"
      "  foretoken step --model llama-3.1-70b --cluster h200-sxm-4 --tp 4 --decode 32x2000 "
      "--speculate eagle --drafts 3\n"
      "  foretoken step --model qwen3.5-27b --gpu h200-sxm --prefill 1x1500 --images 1x1280x720\n"
      "  foretoken step --model qwen3-30b-a3b --gpu l40s --dtype fp8 --decode 8x512 --json\n"
      "  foretoken step --scenario examples/tensor_parallel.toml --decode 64x1024"));
  command->callback([options, &chosen] { chosen = [options] { return step(*options); }; });
}

}  // namespace foretoken
