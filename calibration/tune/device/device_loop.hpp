// What runs in a process of its own beside the GPU ("foretoken-tune device"): it reads requests, a
// line of JSON each, and answers each with a line.
//   {"op": "hello"}                                         → gpu, sms, architecture
//   {"op": "compile", "source", "architecture", "to"}       → ok (a cubin is at `to`), or
//   compile_error
//   {"op": "prepare", "cubin", "tolerance", "shapes": [{"buffers", "launches"}]}
//                     fills buffers and runs the reference  → ok
//   {"op": "evaluate", "cubin", "shapes": [[launch]]}       → ok with seconds and kernels'
//   resources,
//                     or wrong, launch_failure, fault (after which the process ends)
// A launch is {"k": name, "g": grid, "b": block, "s": shared bytes, "a": [["b", buffer] or ["i",
// int]]}.
#pragma once

namespace foretoken::tune {

/// Serves until its input ends or a kernel has left the GPU's context unusable.
void serve_device();

}  // namespace foretoken::tune
