// HTTP/1.1 on one thread, that of the simulation: requests are read whole and within limits,
// answers go out at once or piece by piece. It knows no path and no model; that is the handler's
// business. Its clock and signals are the only ones: whoever waits, waits here. No TLS: put a proxy
// in front.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace foretoken {

/// What one client, or all together, may take.
struct HttpLimits {
  std::size_t connections_max = 4096;        // more are answered 503 and closed
  std::size_t header_bytes_max = 16 << 10;   // beyond: 431
  std::size_t body_bytes_max = 8 << 20;      // beyond: 413
  std::size_t bodies_bytes_max = 256 << 20;  // of all requests being read; beyond: 503
  std::size_t unsent_bytes_max = 1 << 20;    // of a client that does not read; it is closed
  double read_s = 30.0;                      // a request's header, and its body, within
  double idle_s = 75.0;                      // between two requests of a connection
  double write_s = 30.0;                     // for a client that does not read
};

struct HttpRequest {
  std::string method, target, body;
};

/// The way back to whom a request came from. Of no use once it is closed, but harmless.
class HttpReply {
 public:
  /// A whole answer.
  virtual void send(int status, std::string_view content_type, std::string_view body) = 0;
  /// An answer that comes in pieces: begin(), any number of write(), end().
  virtual void begin(std::string_view content_type) = 0;
  virtual void write(std::string_view piece) = 0;
  virtual void end() = 0;

 protected:
  ~HttpReply() = default;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// `reply` can be used until it is answered to the end, or on_closed() is called with it.
  virtual void on_request(const HttpRequest& request, HttpReply& reply) = 0;
  /// The client went away before it was answered.
  virtual void on_closed(HttpReply& reply) = 0;
};

class HttpServer {
 public:
  /// Listens, and takes SIGINT and SIGTERM. Throws ConfigError if it cannot at that place. Port 0:
  /// any that is free. `handler` must outlive it and is called from serve_until() alone.
  HttpServer(const std::string& host, std::uint16_t port, const HttpLimits& limits,
             HttpHandler& handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// Seconds since the server began; never goes back.
  [[nodiscard]] double now() const;
  /// Seconds since 1970.
  [[nodiscard]] static std::int64_t unix_time();

  /// Serves until now() is `date` (nothing: for ever), wake() was called or somebody asked to stop.
  /// What waits to be served is, even if the date has passed.
  void serve_until(std::optional<double> date);
  void wake();
  [[nodiscard]] bool asked_to_stop() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace foretoken
