#include "calibration/tune/device/device_client.hpp"

#include "calibration/tune/device/device_requests.hpp"
#include "calibration/tune/device/gpu_turn.hpp"
#include "sim/base/json.hpp"

namespace foretoken::tune {
namespace {

std::string text_in(const Value& of, std::string_view key) {
  const Value* found = of.find(key);
  return found != nullptr && found->is_string() ? std::get<std::string>(found->data) : "";
}

double number_in(const Value& of, std::string_view key) {
  const Value* found = of.find(key);
  if (found == nullptr) return 0;
  if (const auto* whole = std::get_if<std::int64_t>(&found->data)) {
    return static_cast<double>(*whole);
  }
  const auto* real = std::get_if<double>(&found->data);
  return real == nullptr ? 0 : *real;
}

Evaluation failed(Status status, std::string detail) {
  Evaluation evaluation;
  evaluation.status = status;
  evaluation.detail = std::move(detail);
  return evaluation;
}

}  // namespace

DeviceClient::DeviceClient(std::vector<std::string> command, DeviceLimits limits)
    : command_(std::move(command)), limits_(limits) {}

Value DeviceClient::ask(const Value& request, std::chrono::milliseconds limit,
                        Evaluation& failure) {
  if (!child_) {
    child_ = std::make_unique<ChildProcess>(command_);
    prepared_.clear();
  }
  const ChildProcess::Answer answer = child_->ask(to_json(request, -1), limit);
  const auto restart = [&](Status status, std::string detail) {
    child_.reset();
    failure = failed(status, std::move(detail));
    return Value();
  };
  if (answer.outcome == ChildProcess::Outcome::timeout) {
    return restart(Status::timeout, fmt::format("no answer within {} ms", limit.count()));
  }
  if (answer.outcome == ChildProcess::Outcome::ended) {
    const std::string how = child_->end();
    return restart(Status::crash, "the device process ended: " + how);
  }
  try {
    Value parsed = parse_json(answer.text, {"device", 1, 0});
    const std::string status = text_in(parsed, "status");
    if (status == "ok") return parsed;
    if (status == "fault") return restart(Status::fault, text_in(parsed, "detail"));
    failure = failed(Status::crash, text_in(parsed, "detail"));
    if (status != "error") failure.status = status_named(status, {"device", 1, 0});
    return Value();
  } catch (const ConfigError& error) {
    return restart(Status::crash, error.what());
  }
}

DeviceIdentity DeviceClient::hello() {
  Evaluation failure;
  const Value answer = ask(ValueObject{{"op", "hello"}}, limits_.prepare, failure);
  DeviceIdentity identity{text_in(answer, "gpu"), text_in(answer, "architecture"),
                          static_cast<int>(number_in(answer, "sms"))};
  if (identity.sms == 0) {
    throw ConfigError({}, fmt::format("no GPU to evaluate kernels on: {}", failure.detail));
  }
  return identity;
}

Evaluation DeviceClient::compile(const std::string& source, const std::string& architecture,
                                 const std::string& to) {
  const auto begin = std::chrono::steady_clock::now();
  Evaluation evaluation;
  const Value answer = ask(
      ValueObject{
          {"op", "compile"}, {"source", source}, {"architecture", architecture}, {"to", to}},
      limits_.compile, evaluation);
  if (!text_in(answer, "status").empty()) evaluation.status = Status::ok;
  evaluation.compile_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return evaluation;
}

Evaluation DeviceClient::evaluate(const Problem& problem, const std::string& reference_cubin,
                                  const Candidate& candidate, const std::string& cubin, int sms) {
  Evaluation evaluation;
  Value request;
  try {
    request = launch_request("evaluate", problem, candidate, cubin, sms);
  } catch (const ConfigError& error) {
    return failed(Status::launch_failure, error.what());
  }
  const GpuTurn turn(GpuTurn::path());
  // The process may not live any more, or hold another problem.
  if (!child_ || prepared_ != problem.name) {
    const Value ready =
        ask(prepare_request(problem, reference_cubin, sms), limits_.prepare, evaluation);
    if (text_in(ready, "status").empty()) {
      throw ConfigError(
          {}, fmt::format("the reference of {} does not run: {}", problem.name, evaluation.detail));
    }
    prepared_ = problem.name;
  }
  const Value answer = ask(request, limits_.evaluate, evaluation);
  const Value* seconds = answer.find("seconds");
  if (seconds == nullptr || !seconds->is_array()) return evaluation;
  evaluation.status = Status::ok;
  for (const Value& one : std::get<ValueArray>(seconds->data)) {
    const auto* real = std::get_if<double>(&one.data);
    evaluation.seconds.push_back(real == nullptr ? 0 : *real);
  }
  if (const Value* kernels = answer.find("kernels"); kernels != nullptr && kernels->is_array()) {
    for (const Value& one : std::get<ValueArray>(kernels->data)) {
      evaluation.kernels.push_back(
          {static_cast<int>(number_in(one, "registers")),
           static_cast<int>(number_in(one, "shared")), static_cast<int>(number_in(one, "local")),
           static_cast<int>(number_in(one, "threads")),
           static_cast<int>(number_in(one, "blocks_per_sm")), number_in(one, "blocks")});
    }
  }
  return evaluation;
}

}  // namespace foretoken::tune
