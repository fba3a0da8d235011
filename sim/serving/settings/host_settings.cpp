#include "sim/serving/settings/host_settings.hpp"

namespace foretoken {

HostSettings HostSettings::here(double stretch) const {
  HostSettings out = *this;
  for (const auto member :
       {&HostSettings::step, &HostSettings::sequence, &HostSettings::request, &HostSettings::launch,
        &HostSettings::layer, &HostSettings::graph_launch, &HostSettings::first_use}) {
    out.*member = this->*member * stretch / speed;
  }
  for (const auto member : {&HostSettings::gap, &HostSettings::front_end_request,
                            &HostSettings::front_end_token, &HostSettings::front_end_output}) {
    out.*member = this->*member * stretch;
  }
  out.speed = 1.0;
  return out;
}

bool HostSettings::is_free() const {
  for (const Seconds time :
       {step, sequence, request, launch, layer, graph_launch, first_use, gap}) {
    if (time > Seconds(0.0)) return false;
  }
  return true;
}

const Keys<HostSettings>& host_keys() {
  using S = HostSettings;
  static const Keys<S> keys = {
      // The one time that has always been written out.
      {"host_time",
       &S::gap,
       {.range = not_negative()},
       "CPU time after every step during which the GPU idles, whatever else is hidden. Use only "
       "this key if only one figure per step is known."},
      {"host_step",
       &S::step,
       {.range = not_negative(), .quiet = true},
       "CPU time of a step that does not depend on its size: the scheduler's loop and the "
       "preparation of its inputs."},
      {"host_sequence",
       &S::sequence,
       {.range = not_negative(), .quiet = true},
       "CPU time for each sequence in a step: to schedule it, prepare its input and hand out its "
       "token. Engines loop over sequences in Python, so large batches feel it."},
      {"host_request",
       &S::request,
       {.range = not_negative(), .quiet = true},
       "CPU time in the first step of each request: allocating its KV blocks and hashing its "
       "prompt."},
      {"host_launch",
       &S::launch,
       {.range = not_negative(), .quiet = true},
       "CPU time to launch one kernel outside of a CUDA graph; 3 to 6 us are usual for PyTorch. "
       "Small steps without graphs are bound by it."},
      {"host_layer",
       &S::layer,
       {.range = not_negative(), .quiet = true},
       "CPU time for each layer of a step that runs outside of CUDA graphs, on top of its "
       "launches: "
       "modules, checks and small operations of an engine in Python. Prompts of up to a thousand "
       "tokens are bound by it on fast GPUs."},
      {"host_graph_launch",
       &S::graph_launch,
       {.range = not_negative(), .quiet = true},
       "CPU time to launch a captured step as one CUDA graph."},
      {"host_first_use",
       &S::first_use,
       {.range = not_negative(), .quiet = true},
       "CPU time of a replica's first step with at least host_first_use_tokens new tokens: kernels "
       "that are compiled, tuned or downloaded when they are first needed. All requests wait for "
       "it. A warm-up before the load hides it, and most servers have one."},
      {"host_first_use_tokens",
       &S::first_use_tokens,
       {.range = not_negative(), .quiet = true},
       "New tokens of a step from which it needs those kernels, such as full prompt chunks after a "
       "warm-up with short prompts. 0: the very first step."},
      {"front_end_request",
       &S::front_end_request,
       {.range = not_negative(), .quiet = true},
       "Time that each request takes in the API server before the engine sees it (HTTP, "
       "tokeniser); requests pass one after the other, so it limits the rate."},
      {"front_end_token",
       &S::front_end_token,
       {.range = not_negative(), .quiet = true},
       "As front_end_request, for each token of the prompt."},
      {"front_end_output",
       &S::front_end_output,
       {.range = not_negative(), .quiet = true},
       "Time from the end of a step to the arrival of its tokens at the client: detokeniser and "
       "network. Adds to latency, never to throughput."},
      {"host_speed",
       &S::speed,
       {.range = above(0, "is the CPU's speed as a multiple of the reference CPU's: above 0"),
        .unit = "times the reference CPU",
        .quiet = true},
       "Speed of the CPU relative to the one that the host_* times were measured on; 2 halves them "
       "all but host_time."},
      {"async_scheduling",
       &S::async_scheduling,
       {.quiet = true},
       "Whether the engine prepares the next step while the GPU runs this one (vLLM's asynchronous "
       "scheduling, SGLang's and TensorRT-LLM's overlap schedulers)."},
      {"pipeline_fill",
       &S::pipeline_fill,
       {.quiet = true},
       "When the engine schedules the next step of a pipeline with room for one. any_time: "
       "whenever a sequence can run. in_turn: when a step has begun and, if no sequence can run "
       "then, after the oldest step in flight, as vLLM, SGLang and TensorRT-LLM do: sequences that "
       "arrive together stay in one batch, and stages idle."},
      {"cuda_graph_sizes",
       &S::cuda_graph_sizes,
       {.range = at_least(1, "are tokens of a step: each at least 1"),
        .unit = "tokens",
        .fallback = "[] (no graphs)",
        .quiet = true},
       "Step sizes for which the engine captures a CUDA graph. A decode step runs as the next "
       "larger graph, padding included; one beyond the largest launches its kernels one by one."},
      {"cuda_graph_prefill",
       &S::cuda_graph_prefill,
       {.quiet = true},
       "Whether steps that contain prompt tokens replay graphs as well, in pieces around attention "
       "(vLLM's piecewise graphs)."},
  };
  return keys;
}

}  // namespace foretoken
