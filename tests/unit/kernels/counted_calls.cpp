#include "counted_calls.hpp"

#include "kernels/tasks/decomposers/decomposer.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {

CountedCalls& counted_calls() {
  static CountedCalls calls;
  return calls;
}

// As the linker's --wrap names them.
Decomposition real_flash_attention_3(const Attention&, const GpuSpec&) asm(
    "__real__ZN9foretoken27decompose_flash_attention_3ERKNS_9AttentionERKNS_7GpuSpecE");
Decomposition wrapped_flash_attention_3(const Attention&, const GpuSpec&) asm(
    "__wrap__ZN9foretoken27decompose_flash_attention_3ERKNS_9AttentionERKNS_7GpuSpecE");
PlacedLoad real_placed_load(const Launch&, const GpuSpec&) asm(
    "__real__ZN9foretoken11placed_loadERKNS_6LaunchERKNS_7GpuSpecE");
PlacedLoad wrapped_placed_load(const Launch&, const GpuSpec&) asm(
    "__wrap__ZN9foretoken11placed_loadERKNS_6LaunchERKNS_7GpuSpecE");

Decomposition wrapped_flash_attention_3(const Attention& kernel, const GpuSpec& gpu) {
  ++counted_calls().flash_attention_3;
  return real_flash_attention_3(kernel, gpu);
}
PlacedLoad wrapped_placed_load(const Launch& launch, const GpuSpec& gpu) {
  ++counted_calls().schedules;
  return real_placed_load(launch, gpu);
}

}  // namespace foretoken
