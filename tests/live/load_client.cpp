// A load tool written against the OpenAI protocol: streams completions from a server, takes its own
// clock's times where the bytes come in, and writes what vLLM's benchmark client writes with
// --save-result --save-detailed. It says which streams were cut, out of order or not as long as
// asked.
//
//   load_client PORT REQUESTS RATE PROMPT OUTPUT FILE
//
// RATE: requests a second on average, at random distances; 0 = all at once. Prompts are token ids,
// no two alike.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/random.hpp"

namespace {

using namespace foretoken;
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

struct Load {
  std::uint16_t port = 0;
  int requests = 0;
  double rate = 0;
  int prompt_tokens = 0, output_tokens = 0;
};

double seconds(Clock::time_point date) {
  return std::chrono::duration<double>(date.time_since_epoch()).count();
}

class Stream {
 public:
  Stream(asio::io_context& io, const Load& load, int number, RandomStream& random)
      : load_(load), socket_(io), timer_(io) {
    std::string ids;
    for (int i = 0; i < load.prompt_tokens; ++i)
      ids += fmt::format("{}{}", i == 0 ? "" : ",", random() % 100'000);
    const std::string body =
        fmt::format(R"({{"prompt":[{}],"max_tokens":{},"ignore_eos":true,"stream":true,)"
                    R"("stream_options":{{"include_usage":true}}}})",
                    ids, load.output_tokens);
    request_ = fmt::format(
        "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        load.port, body.size(), body);
    error_ = fmt::format("stream {} did not end", number);
  }

  void start(Clock::time_point date) {
    timer_.expires_at(date);
    timer_.async_wait([this](error_code) {
      begin_ = Clock::now();
      const tcp::endpoint server(asio::ip::make_address("127.0.0.1"), load_.port);
      socket_.async_connect(server, [this](error_code error) {
        if (error) return fail(error.message());
        asio::async_write(socket_, asio::buffer(request_), [this](error_code failure, std::size_t) {
          if (failure) return fail(failure.message());
          parser_.body_limit(boost::none);
          read();
        });
      });
    });
  }

  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] double begin() const { return seconds(begin_); }
  [[nodiscard]] double ttft() const { return is_begun_ ? seconds(first_) - begin() : 0.0; }
  [[nodiscard]] double latency() const { return seconds(last_) - begin(); }
  [[nodiscard]] const std::vector<double>& gaps() const { return gaps_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::int64_t tokens() const { return usage_tokens_; }
  [[nodiscard]] double tpot() const {
    return tokens() < 2 ? 0.0 : (latency() - ttft()) / static_cast<double>(tokens() - 1);
  }

 private:
  void read() {
    http::async_read_some(socket_, buffer_, parser_, [this](error_code error, std::size_t) {
      const Clock::time_point now = Clock::now();
      if (error && error != http::error::end_of_stream) return fail(error.message());
      received_ += std::exchange(parser_.get().body(), {});
      take_events(now);
      if (!error && !parser_.is_done()) return read();
      finish();
    });
  }

  void take_events(Clock::time_point now) {
    std::size_t end = 0;
    while ((end = received_.find("\n\n")) != std::string::npos) {
      const std::string event = received_.substr(0, end);
      received_.erase(0, end + 2);
      if (event == "data: [DONE]") {
        is_done_ = true;
      } else if (event.starts_with("data: ")) {
        take(parse_json(std::string_view(event).substr(6), {"event"}), now);
      }
    }
  }

  void take(const Value& chunk, Clock::time_point now) {
    const Value* choices = chunk.find("choices");
    if (const Value* usage = chunk.find("usage"); usage != nullptr && usage->is_object())
      usage_tokens_ = std::get<std::int64_t>(usage->find("completion_tokens")->data);
    if (choices == nullptr || std::get<ValueArray>(choices->data).empty()) return;
    text_ += std::get<std::string>(std::get<ValueArray>(choices->data)[0].find("text")->data);
    if (!is_begun_) {
      first_ = now;
    } else {
      gaps_.push_back(seconds(now) - seconds(last_));
    }
    is_begun_ = true;
    last_ = now;
  }

  void finish() {
    if (parser_.get().result_int() != 200)
      return fail(fmt::format("status {}: {}", parser_.get().result_int(), received_));
    if (!is_done_) return fail("cut before [DONE]");
    if (usage_tokens_ != load_.output_tokens)
      return fail(fmt::format("{} tokens of {}", usage_tokens_, load_.output_tokens));
    std::string wanted;
    for (int i = 0; i < load_.output_tokens; ++i) wanted += fmt::format(" {:03}", i % 1000);
    if (text_ != wanted) return fail("tokens are missing or out of order");
    error_.clear();
  }

  void fail(const std::string& why) {
    error_ = why;
    error_code ignored;
    socket_.close(ignored);
  }

  const Load& load_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  std::string request_, received_, text_, error_;
  boost::beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
  Clock::time_point begin_, first_, last_;
  bool is_begun_ = false, is_done_ = false;
  std::int64_t usage_tokens_ = 0;
  std::vector<double> gaps_;
};

void set_latency(Value& result, const std::string& name, std::vector<double> samples) {
  if (samples.empty()) return;
  std::ranges::sort(samples);
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))] * 1e3;
  };
  result.set("mean_" + name + "_ms", std::accumulate(samples.begin(), samples.end(), 0.0) /
                                         static_cast<double>(samples.size()) * 1e3);
  result.set("median_" + name + "_ms", at(0.5));
  result.set("p99_" + name + "_ms", at(0.99));
}

Value result_of(const Load& load, const std::vector<std::unique_ptr<Stream>>& streams,
                double duration) {
  Value result;
  ValueArray starts, ttfts, itls, prompts, answers, errors;
  std::vector<double> first, per_token, gaps;
  std::int64_t completed = 0;
  for (const auto& stream : streams) {
    const bool is_good = stream->error().empty();
    completed += is_good ? 1 : 0;
    starts.emplace_back(stream->begin());
    ttfts.emplace_back(stream->ttft());
    ValueArray own;
    for (const double gap : stream->gaps()) own.emplace_back(gap);
    itls.emplace_back(std::move(own));
    prompts.emplace_back(load.prompt_tokens);
    answers.emplace_back(is_good ? stream->tokens() : 0);
    errors.emplace_back(stream->error());
    if (!is_good) continue;
    first.push_back(stream->ttft());
    per_token.push_back(stream->tpot());
    gaps.insert(gaps.end(), stream->gaps().begin(), stream->gaps().end());
  }
  result.set("backend", "vllm");
  result.set("model_id", "served");
  result.set("num_prompts", load.requests);
  result.set("duration", duration);
  result.set("completed", completed);
  result.set("failed", load.requests - completed);
  result.set("total_input_tokens", completed * load.prompt_tokens);
  result.set("total_output_tokens", completed * load.output_tokens);
  result.set("request_throughput", static_cast<double>(completed) / duration);
  set_latency(result, "ttft", first);
  set_latency(result, "tpot", per_token);
  set_latency(result, "itl", gaps);
  result.set("input_lens", std::move(prompts));
  result.set("output_lens", std::move(answers));
  result.set("start_times", std::move(starts));
  result.set("ttfts", std::move(ttfts));
  result.set("itls", std::move(itls));
  result.set("errors", std::move(errors));
  return result;
}

int run(const Load& load, const std::string& file) {
  asio::io_context io{1};
  RandomStream random = RandomStreams(7).stream("load");
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < load.requests; ++i)
    streams.push_back(std::make_unique<Stream>(io, load, i, random));
  const Clock::time_point begin = Clock::now();
  double date = 0;
  for (const auto& stream : streams) {
    stream->start(begin +
                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(date)));
    if (load.rate > 0) date -= std::log1p(-uniform(random)) / load.rate;
  }
  io.run();
  const Value result = result_of(load, streams, seconds(Clock::now()) - seconds(begin));
  write_file(file, to_json(result) + "\n");
  int failed = 0;
  for (const auto& stream : streams) {
    if (stream->error().empty()) continue;
    if (++failed <= 5) std::cerr << "load_client: " << stream->error() << "\n";
  }
  std::cout << fmt::format("{} of {} streams complete\n", load.requests - failed, load.requests);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "load_client PORT REQUESTS RATE PROMPT OUTPUT FILE\n";
    return 2;
  }
  const Load load{static_cast<std::uint16_t>(std::atoi(argv[1])), std::atoi(argv[2]),
                  std::atof(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])};
  return run(load, argv[6]);
}
