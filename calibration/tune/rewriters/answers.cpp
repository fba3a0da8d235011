#include "calibration/tune/rewriters/answers.hpp"

namespace foretoken::tune {

Value launches_as_values(const std::vector<Launch>& launches) {
  const auto texts = [](const std::vector<std::string>& from) {
    ValueArray array;
    for (const std::string& text : from) array.emplace_back(text);
    return array;
  };
  ValueArray array;
  for (const Launch& launch : launches) {
    array.emplace_back(ValueObject{{"kernel", launch.kernel},
                                   {"when", launch.when},
                                   {"grid", texts(launch.grid)},
                                   {"block", texts(launch.block)},
                                   {"shared", launch.shared},
                                   {"arguments", texts(launch.arguments)}});
  }
  return array;
}

Rewrite failed_rewrite(Status status, std::string detail) {
  Rewrite rewrite;
  rewrite.failure.status = status;
  rewrite.failure.detail = std::move(detail);
  return rewrite;
}

}  // namespace foretoken::tune
