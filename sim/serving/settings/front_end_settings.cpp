#include "sim/serving/settings/front_end_settings.hpp"

#include "sim/base/key_lists.hpp"

namespace foretoken {
namespace {

const Keys<QueueClass>& queue_class_keys() {
  using S = QueueClass;
  static const Keys<S> keys = {
      {"priority",
       &S::priority,
       {.required = true},
       "Priority of these requests, from [[workload.priorities]] or [[workload.classes]]."},
      {"queue_max",
       &S::queue_max,
       {.range = at_least(0), .unit = "requests", .required = true},
       "Requests of this priority that may wait at the gateway; further ones are rejected. 0: "
       "none, they are rejected first when replicas are full."},
  };
  return keys;
}

const Keys<TenantLimit>& tenant_limit_keys() {
  using S = TenantLimit;
  static const Keys<S> keys = {
      {"tenant",
       &S::tenant,
       {.required = true},
       "Tenant of these requests, from [[workload.classes]]."},
      {"request_rate",
       &S::request_rate,
       {.range = above(0, "must be above 0")},
       "Requests per second that the tenant may send on average; more are rejected."},
      {"token_rate",
       &S::token_rate,
       {.range = above(0, "must be above 0")},
       "Prompt and output tokens per second that the tenant may ask for on average."},
      {"burst",
       &S::burst,
       {.range = not_negative()},
       "Burst allowed after a pause: what the rates allow in this time. 60 s is a limit per "
       "minute."},
  };
  return keys;
}

Key<FrontEndSettings> classes_key() {
  using S = QueueClass;
  return {{.name = "classes",
           .type = "list of tables",
           .fallback = "not set (one queue for all)",
           .meaning = "Queue limits of single priorities: [[front_end.classes]]."},
          [](TableReader& table, FrontEndSettings& settings) {
            settings.classes =
                read_list(table, "classes", queue_class_keys(),
                          "write a list of classes, for example [{ priority = 1, queue_max = 20 }]",
                          [](TableReader& one, const S& read, const std::vector<S>& before) {
                            expect_once(one, "priority", read, before, &S::priority);
                          });
          },
          [](const FrontEndSettings& settings) -> std::optional<Value> {
            if (settings.classes.empty()) return std::nullopt;
            return list_value(settings.classes, queue_class_keys());
          }};
}

Key<FrontEndSettings> tenants_key() {
  using S = TenantLimit;
  return {
      {.name = "tenants",
       .type = "list of tables",
       .fallback = "not set (no limits)",
       .meaning = "Rate limits of single tenants: [[front_end.tenants]]."},
      [](TableReader& table, FrontEndSettings& settings) {
        settings.tenants = read_list(
            table, "tenants", tenant_limit_keys(),
            "write a list of limits, for example [{ tenant = \"web\", request_rate = \"5 /s\" }]",
            [](TableReader& one, const S& read, const std::vector<S>& before) {
              expect_once(one, "tenant", read, before, &S::tenant);
              one.expect("tenant", read.request_rate || read.token_rate,
                         "has no limit; give request_rate or token_rate");
            });
      },
      [](const FrontEndSettings& settings) -> std::optional<Value> {
        if (settings.tenants.empty()) return std::nullopt;
        return list_value(settings.tenants, tenant_limit_keys());
      }};
}

}  // namespace

std::vector<KeyNote> queue_class_notes() { return queue_class_keys().notes(); }
std::vector<KeyNote> tenant_limit_notes() { return tenant_limit_keys().notes(); }

const Keys<FrontEndSettings>& front_end_keys() {
  using S = FrontEndSettings;
  static const Keys<S> keys = {
      {"status_interval",
       &S::status_interval,
       {.range = not_negative()},
       "Interval at which the router polls the replicas' load. In between it decides on stale "
       "figures, like a gateway that polls metrics; at 0 they are always current."},
      {"outstanding_max",
       &S::outstanding_max,
       {.range = at_least(0, "must be at least 1 (or 0: no limit)"), .unit = "requests"},
       "Requests that a replica may hold, queued or running. Once every replica holds that many, "
       "new requests are rejected. 0: no limit."},
      {"attempts_max",
       &S::attempts_max,
       {.range = count(), .unit = "attempts"},
       "Attempts at a request when replicas fail, the first included; after the last one it counts "
       "as failed. 1: no retries."},
      {"retry_delay",
       &S::retry_delay,
       {.range = not_negative()},
       "Time from the failure of a replica to the next attempt at the requests it lost, such as a "
       "client's back-off or a health check's period."},
      {"queue_max",
       &S::queue_max,
       {.range = not_negative(), .unit = "requests", .quiet = true},
       "Requests that may wait at the gateway while every replica holds outstanding_max, most "
       "urgent first. When it is full, the least urgent are rejected. 0: none."},
      {"queue_order",
       &S::queue_order,
       {.quiet = true},
       "Order within a priority: by arrival, or tenants in turn."},
      classes_key(),
      tenants_key(),
  };
  return keys;
}

}  // namespace foretoken
