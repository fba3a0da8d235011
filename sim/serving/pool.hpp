// The seam between the front end, which sees a request through for its client, and what serves it:
// one fleet of equal replicas, or several that hand a request on. A pool never gives up on its own
// account and never retries; it says what became of each request, once.
#pragma once

#include "sim/metrics/request_metrics.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

/// Told what becomes of a request by whoever works on it (a replica tells its fleet, a pool the
/// front end), after it has let go of the request. Exactly one of the last two comes for each
/// submit().
class RequestListener {
 public:
  virtual ~RequestListener() = default;
  /// The client has its first token at `seen`, now or later. Not called again for a later attempt.
  virtual void on_first_token(RequestId id, Seconds seen) = 0;
  /// It came to an end; if it is completed, the client has its answer at `finished`, now or later.
  virtual void on_request_ended(const RequestRecord& record) = 0;
  /// What worked on it failed. `record` says what the client has got; its status is meaningless.
  virtual void on_request_lost(const RequestRecord& record) = 0;
};

class Pool {
 public:
  virtual ~Pool() = default;
  /// Serves a request. `record` is what became of it so far: new_record() at first, and after a
  /// loss the record that on_request_lost() gave, so that tokens a client has are not counted
  /// twice. Listeners may be called before this returns.
  virtual void submit(const Request& request, const RequestRecord& record) = 0;
  /// Gives up a request that was submitted and has not ended: it ends with `status` before this
  /// returns, wherever it is. A step that works on it goes on, and its token is dropped.
  virtual void cancel(RequestId id, RequestStatus status) = 0;
  /// The run was cut: every request that has not ended does, as unfinished.
  virtual void abandon() = 0;
};

/// The record of a request that nobody has worked on.
inline RequestRecord new_record(const Request& request) {
  RequestRecord record;
  record.id = request.id;
  record.arrival = request.arrival;
  record.prompt_tokens = request.prompt_tokens;
  record.output_asked = request.output_tokens;
  record.priority = request.priority;
  record.tenant = request.tenant;
  record.model = request.model;
  record.session = request.session;
  record.session_requests = request.session_requests;
  record.after = request.after;
  return record;
}

}  // namespace foretoken
