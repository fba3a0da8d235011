// How many servers work with deadlines takes at least: whatever comes after one moment and is due
// before another has to be done between the two, by servers that do a second of it each second. So
// bursts count, which a mean over the whole traffic hides. In what order, and how it is shared out,
// is left open: no schedule does better.
#pragma once

#include <vector>

namespace foretoken {

struct Demand {
  double from_s = 0, due_s = 0;  // when it comes, and when it has to be done
  double work_s = 0;             // of one server
};

/// Servers, not rounded up. Of all the work `spared_s` need not be done, wherever it falls.
double servers_at_least(std::vector<Demand> demands, double spared_s);

}  // namespace foretoken
