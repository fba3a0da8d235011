// One client's connection to HttpServer: requests are read one after the other and handed on,
// answers sent. For http_server.cpp alone.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <set>

#include "sim/live/http_server.hpp"

namespace foretoken {

class HttpConnection;

/// What all connections share.
struct HttpConnections {
  HttpLimits limits;
  HttpHandler& handler;
  std::size_t bodies_bytes = 0;
  std::set<std::shared_ptr<HttpConnection>> open = {};
  std::array<char, 65536> skipped = {};  // read and not looked at
};

class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual void close() = 0;
};

/// Adds the connection of `socket` to those that are open, and begins to read.
void open_connection(boost::asio::ip::tcp::socket socket, HttpConnections& connections);

/// Of the clock that waits are measured by.
inline std::chrono::steady_clock::duration in_ticks(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace foretoken
