#include "sim/base/embedded_toml.hpp"

#include <map>

#include "sim/base/toml.hpp"

namespace foretoken {

const Value& parse_embedded(const EmbeddedFile& file, const std::string& source) {
  // A thread's own: a child that is forked while another thread held a lock would wait for ever.
  thread_local std::map<const char*, Value> parsed;
  const auto known = parsed.find(file.text.data());
  if (known != parsed.end()) return known->second;
  return parsed.emplace(file.text.data(), parse_toml(file.text, source)).first->second;
}

}  // namespace foretoken
