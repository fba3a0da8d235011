// Pieces that launches of any kind are put together from.
#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {

void append_tasks(TaskList& groups, const Task& task, std::int64_t count) {
  if (count <= 0) return;
  if (!groups.empty() && groups.back().task == task) {
    groups.back().count += count;
  } else {
    groups.push_back({task, count});
  }
}

void append_list(TaskList& groups, std::span<const TaskGroup> list, std::int64_t count) {
  if (list.size() == 1) {
    append_tasks(groups, list[0].task, list[0].count * count);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (const TaskGroup& group : list) append_tasks(groups, group.task, group.count);
  }
}

Launch uniform_launch(std::string_view name, const Task& task, std::int64_t count, int threads,
                      int registers) {
  Launch launch;
  launch.name = name;
  launch.shape = {.grid_x = count,
                  .threads = threads,
                  .registers_per_thread = registers,
                  .shared_memory = Bytes(0)};
  append_tasks(launch.tasks, task, count);
  return launch;
}

}  // namespace foretoken
