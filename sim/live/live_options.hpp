// What `foretoken serve` is told beside the scenario.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretoken {

struct LiveOptions {
  std::string host = "127.0.0.1";   // to listen on; this machine alone
  std::uint16_t port = 8000;        // 0: any that is free
  double speed = 1.0;               // simulated seconds a second
  std::vector<std::string> models;  // as clients call them, by Request::model
  bool records = false;             // keeps what a served folder needs
};

}  // namespace foretoken
