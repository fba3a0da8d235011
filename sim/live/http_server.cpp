// Boost.Beast parses, Boost.Asio waits; nothing above this file and http_connection includes
// either. A piece of an answer is given to the kernel within write(), so that a token is on its way
// when that returns; what the kernel does not take is kept and sent when it does.
#include "sim/live/http_server.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/live/http_connection.hpp"

namespace foretoken {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

/// Room for the connections, where the system's soft limit is lower than its hard one.
void raise_open_files(std::size_t wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, wanted);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const std::string& host, std::uint16_t port, const HttpLimits& limits, HttpHandler& handler)
      : connections_{limits, handler},
        acceptor_(io_),
        retry_(io_),
        timer_(io_),
        signals_(io_, SIGINT, SIGTERM),
        begin_(Clock::now()) {
    raise_open_files(limits.connections_max + 64);
    listen(host, port);
    signals_.async_wait([this](error_code error, int) {
      if (error) return;
      is_asked_to_stop_ = true;
      wake();
    });
    accept();
  }

  ~Impl() {
    while (!connections_.open.empty()) (*connections_.open.begin())->close();
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  double now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  void serve_until(std::optional<double> date) {
    is_woken_ = false;
    io_.poll();
    if (is_woken_ || (date && now() >= *date)) return;
    is_due_ = false;
    if (date) {
      timer_.expires_at(begin_ + in_ticks(*date));
      timer_.async_wait([this](error_code error) { is_due_ = is_due_ || !error; });
    }
    while (!is_woken_ && !is_due_) io_.run_one();
    timer_.cancel();
  }

  void wake() { is_woken_ = true; }
  bool asked_to_stop() const { return is_asked_to_stop_; }

 private:
  void listen(const std::string& host, std::uint16_t port) {
    error_code error;
    const asio::ip::address address = asio::ip::make_address(host, error);
    if (error) {
      throw ConfigError({"--host"}, fmt::format("'{}' is not an IP address; 127.0.0.1 serves this "
                                                "machine only, 0.0.0.0 all of its networks",
                                                host));
    }
    const tcp::endpoint endpoint(address, port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(SOMAXCONN, error);
    if (!error) return;
    throw ConfigError({"--port"}, fmt::format("cannot listen on {}:{} ({}); name another port",
                                              host, port, error.message()));
  }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return accept_later();
      admit(std::move(socket));
      accept();
    });
  }

  /// No file descriptors are left: some will come back.
  void accept_later() {
    retry_.expires_after(in_ticks(0.1));
    retry_.async_wait([this](error_code error) {
      if (!error) accept();
    });
  }

  void admit(tcp::socket socket) {
    if (connections_.open.size() >= connections_.limits.connections_max) {
      constexpr std::string_view full =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
          "Connection: close\r\n\r\n";
      error_code ignored;
      socket.write_some(asio::buffer(full.data(), full.size()), ignored);
      return;
    }
    open_connection(std::move(socket), connections_);
  }

  asio::io_context io_{1};
  HttpConnections connections_;
  tcp::acceptor acceptor_;
  asio::steady_timer retry_, timer_;
  asio::signal_set signals_;
  Clock::time_point begin_;
  bool is_woken_ = false, is_due_ = false, is_asked_to_stop_ = false;
};

HttpServer::HttpServer(const std::string& host, std::uint16_t port, const HttpLimits& limits,
                       HttpHandler& handler)
    : impl_(std::make_unique<Impl>(host, port, limits, handler)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return impl_->port(); }
double HttpServer::now() const { return impl_->now(); }
std::int64_t HttpServer::unix_time() {
  return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
}
void HttpServer::serve_until(std::optional<double> date) { impl_->serve_until(date); }
void HttpServer::wake() { impl_->wake(); }
bool HttpServer::asked_to_stop() const { return impl_->asked_to_stop(); }

}  // namespace foretoken
