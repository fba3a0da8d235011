#include "sim/live/http_connection.hpp"

#include <fmt/format.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

namespace foretoken {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// For a client to take the last of an answer, while it sends on.
constexpr double end_s = 2.0;
constexpr std::size_t skipped_bytes_max = 16 << 20;

std::string status_line(int status) {
  const std::string_view reason = http::obsolete_reason(static_cast<http::status>(status)).data();
  return fmt::format("HTTP/1.1 {} {}\r\n", status, reason);
}

class Connection final : public HttpConnection,
                         public HttpReply,
                         public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, HttpConnections& shared)
      : shared_(shared),
        socket_(std::move(socket)),
        deadline_(socket_.get_executor()),
        buffer_(shared.limits.header_bytes_max) {}

  void start() {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
    read(shared_.limits.read_s);
  }

  void send(int status, std::string_view content_type, std::string_view body) override {
    std::string answer = status_line(status);
    fmt::format_to(std::back_inserter(answer), "Content-Type: {}\r\nContent-Length: {}\r\n",
                   content_type, body.size());
    if (status == 429 || status == 503) answer += "Retry-After: 1\r\n";
    if (!keeps_alive_) answer += "Connection: close\r\n";
    answer += "\r\n";
    if (!is_head_) answer += body;
    put(answer);
    finish();
  }

  void begin(std::string_view content_type) override {
    std::string head = status_line(200);
    fmt::format_to(std::back_inserter(head), "Content-Type: {}\r\nCache-Control: no-cache\r\n",
                   content_type);
    // HTTP/1.0 knows no chunks: the answer ends with the connection.
    if (is_chunked_) head += "Transfer-Encoding: chunked\r\n";
    if (!keeps_alive_) head += "Connection: close\r\n";
    put(head + "\r\n");
  }

  void write(std::string_view piece) override {
    if (piece.empty()) return;
    put(is_chunked_ ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : std::string(piece));
    if (unsent_.size() + in_flight_.size() > shared_.limits.unsent_bytes_max) close_soon();
  }

  void end() override {
    if (is_chunked_) put("0\r\n\r\n");
    finish();
  }

  void close() override {
    if (!std::exchange(is_open_, false)) return;
    const auto self = shared_from_this();
    error_code ignored;
    deadline_.cancel(ignored);
    socket_.close(ignored);
    give_back_body();
    shared_.open.erase(self);
    if (std::exchange(is_answering_, false)) shared_.handler.on_closed(*this);
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  /// Closed in `seconds`, unless it is called again.
  void allow(double seconds) {
    deadline_.expires_after(in_ticks(seconds));
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      // One that had come already is not taken back by a later date.
      if (!error && self->deadline_.expiry() <= Clock::now()) self->close();
    });
  }

  void read(double allowed_s) {
    if (!is_open_ || std::exchange(is_reading_, true)) return;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_.limits.header_bytes_max));
    parser_->body_limit(shared_.limits.body_bytes_max);
    allow(allowed_s);
    http::async_read_header(
        socket_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_header(error); });
  }

  void on_header(error_code error) {
    if (!is_open_) return;
    if (error) return refuse(error);
    const auto length = parser_->content_length();
    if (length && *length > shared_.limits.body_bytes_max) return refuse(http::error::body_limit);
    body_bytes_ = length ? *length : parser_->chunked() ? shared_.limits.body_bytes_max : 0;
    shared_.bodies_bytes += body_bytes_;
    if (shared_.bodies_bytes > shared_.limits.bodies_bytes_max) {
      return refuse(503, "Too many requests are being read");
    }
    if (boost::beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
      put("HTTP/1.1 100 Continue\r\n\r\n");
    }
    allow(shared_.limits.read_s);
    http::async_read(
        socket_, buffer_, *parser_,
        [self = shared_from_this()](error_code failure, std::size_t) { self->on_read(failure); });
  }

  void on_read(error_code error) {
    if (!is_open_) return;
    if (error) return refuse(error);
    give_back_body();
    is_reading_ = false;
    auto message = parser_->release();
    parser_.reset();
    keeps_alive_ = message.keep_alive();
    is_chunked_ = message.version() >= 11;
    is_head_ = message.method() == http::verb::head;
    is_answering_ = true;
    error_code ignored;
    deadline_.cancel(ignored);
    const auto text = [](auto view) { return std::string(view.data(), view.size()); };
    shared_.handler.on_request(
        {text(message.method_string()), text(message.target()), std::move(message.body())}, *this);
    if (is_answering_) watch();
  }

  /// What cannot be read is answered where HTTP has a word for it, and the connection is over.
  void refuse(error_code error) {
    if (error == http::error::body_limit) return refuse(413, "The body is too large");
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return refuse(431, "The header is too large");
    if (error == http::error::end_of_stream || error.category() != bad_http()) return close();
    refuse(400, "This is not HTTP/1.1");
  }

  static const boost::system::error_category& bad_http() {
    return http::make_error_code(http::error::bad_method).category();
  }

  void refuse(int status, std::string_view why) {
    keeps_alive_ = false;
    is_head_ = false;
    send(status, "text/plain; charset=utf-8", std::string(why) + "\n");
  }

  /// While it is answered: whether the client goes away. One that sends its next request already is
  /// only found out by writing.
  void watch() {
    if (std::exchange(is_watching_, true)) return;
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
      self->is_watching_ = false;
      if (!error) self->look();
    });
  }

  void look() {
    if (!is_open_ || is_ending_) return;
    if (!is_answering_) return read(shared_.limits.idle_s);
    char next = 0;
    error_code error;
    const std::size_t count =
        socket_.receive(asio::buffer(&next, 1), tcp::socket::message_peek, error);
    if (error == asio::error::would_block) return watch();
    if (error || count == 0) close();
  }

  void put(std::string_view bytes) {
    if (!is_open_) return;
    if (in_flight_.empty() && unsent_.empty()) {
      error_code error;
      const std::size_t sent = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
      if (error && error != asio::error::would_block) return close_soon();
      bytes.remove_prefix(error ? 0 : sent);
    }
    if (bytes.empty()) return;
    unsent_ += bytes;
    send_rest();
  }

  void send_rest() {
    if (!in_flight_.empty()) return;
    in_flight_.swap(unsent_);
    allow(shared_.limits.write_s);
    asio::async_write(socket_, asio::buffer(in_flight_),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        self->in_flight_.clear();
                        if (error) return self->close();
                        error_code ignored;
                        self->deadline_.cancel(ignored);
                        if (!self->unsent_.empty()) return self->send_rest();
                        if (!self->is_answering_) self->go_on();
                      });
  }

  /// The answer is complete, though perhaps not sent.
  void finish() {
    is_answering_ = false;
    if (in_flight_.empty()) go_on();
  }

  /// To the next request.
  void go_on() {
    if (!is_open_) return;
    if (!keeps_alive_) return end_connection();
    if (buffer_.size() > 0 || !is_watching_) return read(shared_.limits.idle_s);
    allow(shared_.limits.idle_s);
  }

  /// Sends the end and reads what still comes: a close() before would take the answer back.
  void end_connection() {
    is_ending_ = true;
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    allow(end_s);
    skip_rest();
  }

  void skip_rest() {
    socket_.async_read_some(asio::buffer(shared_.skipped),
                            [self = shared_from_this()](error_code error, std::size_t count) {
                              self->skipped_bytes_ += count;
                              if (error || self->skipped_bytes_ > skipped_bytes_max)
                                return self->close();
                              self->skip_rest();
                            });
  }

  /// Not at once: whoever is being answered may be calling.
  void close_soon() {
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->close(); });
  }

  void give_back_body() { shared_.bodies_bytes -= std::exchange(body_bytes_, 0); }

  HttpConnections& shared_;
  tcp::socket socket_;
  asio::steady_timer deadline_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::string unsent_, in_flight_;
  std::size_t body_bytes_ = 0;  // counted among those being read
  std::size_t skipped_bytes_ = 0;
  bool is_open_ = true, is_reading_ = false, is_answering_ = false, is_watching_ = false;
  bool is_ending_ = false, keeps_alive_ = false, is_chunked_ = false, is_head_ = false;
};

}  // namespace

void open_connection(tcp::socket socket, HttpConnections& connections) {
  auto connection = std::make_shared<Connection>(std::move(socket), connections);
  connections.open.insert(connection);
  connection->start();
}

}  // namespace foretoken
