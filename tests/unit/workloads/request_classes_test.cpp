// Classes of requests: shares, the stream they draw from, tenants, lengths of their own, mistakes.

#include "workloads/requests/request_classes.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::request_classes_test {
namespace {

constexpr const char* traffic = R"(arrivals = "interval"
rate = "1 /s"
requests = 40000
prompt_tokens = { distribution = "uniform", min = 1, max = 900 }
output_tokens = 5
)";

TEST(Priorities, ClassesComeByTheirShares) {
  const auto all = requests(std::string(traffic) +
                            "priorities = [{ priority = -1, share = 1 }, { priority = 4, share = 3 "
                            "}]\n");
  std::map<int, int> count;
  for (const Request& request : all) ++count[request.priority];
  ASSERT_EQ(count.size(), 2U);
  // 40,000 draws of probability 1/4: a standard deviation is 87.
  EXPECT_NEAR(count[-1], 10'000, 4 * 87);
  EXPECT_EQ(count[-1] + count[4], 40'000);
}

TEST(Priorities, AreZeroWithoutClassesAndShiftNoOtherStream) {
  const auto plain = requests(traffic);
  const auto classed =
      requests(std::string(traffic) + "priorities = [{ priority = 7, share = 1 }]\n");
  EXPECT_EQ(prompts(plain), prompts(classed));
  EXPECT_EQ(plain.front().priority, 0);
  EXPECT_EQ(classed.front().priority, 7);
}

// They are compared, never subtracted: the ends of the type are classes like others.
TEST(Priorities, ReachToTheEndsOfTheirType) {
  const auto all = requests(std::string(traffic) +
                            "priorities = [{ priority = -2147483648, share = 1e9 }, { priority = "
                            "2147483647, share = 1e9 }]\n");
  std::map<int, int> count;
  for (const Request& request : all) ++count[request.priority];
  ASSERT_EQ(count.size(), 2U);
  EXPECT_NEAR(count[std::numeric_limits<int>::min()], 20'000, 4 * 100);
  EXPECT_GT(count[std::numeric_limits<int>::max()], 0);
  for (const char* beyond : {"2147483648", "-2147483649", "9223372036854775807"}) {
    EXPECT_THAT(
        read(fmt::format("{}priorities = [{{ priority = {}, share = 1 }}]\n", traffic, beyond))
            .errors,
        testing::HasSubstr("workload.priorities.priority: must be an integer"));
  }
}

TEST(Priorities, MistakesAreToldWithARemedy) {
  EXPECT_EQ(read(std::string(traffic) + "priorities = 3\n").errors,
            "s.toml:7:1: workload.priorities: is an integer; write a list of classes, for example "
            "[{ priority = 0, share = 0.2 }, { priority = 1, share = 0.8 }]; lower priorities go "
            "first");
  EXPECT_EQ(read(std::string(traffic) + "priorities = [{ priority = 1, share = 0.0 }]\n").errors,
            "s.toml:7:31: workload.priorities.share: must be above 0, at most 1e9");
  EXPECT_EQ(read(std::string(traffic) + "priorities = [{ share = 1, prio = 0 }]\n").errors,
            "s.toml:7:15: [workload.priorities] lacks 'priority'\n"
            "s.toml:7:28: unknown key 'prio' in [workload.priorities]; did you mean 'priority'?");
}

constexpr const char* two_tenants =
    "classes = [{ tenant = \"web\", share = 1, weight = 2.0 },\n"
    "  { tenant = \"batch\", share = 2, priority = 1, prompt_tokens = 3000 },\n"
    "  { tenant = \"web\", share = 1, weight = 2.0, output_tokens = 7 }]\n";

TEST(RequestClasses, HaveTenantsAndLengthsOfTheirOwn) {
  const auto all = requests(std::string(traffic) + two_tenants);
  std::map<int, int> count;
  for (const Request& request : all) {
    ++count[request.tenant];
    const bool is_batch = request.tenant == 1;
    EXPECT_EQ(request.priority, is_batch ? 1 : 0);
    EXPECT_EQ(request.tenant_weight, is_batch ? 1.0 : 2.0);
    EXPECT_EQ(request.prompt_tokens == 3000, is_batch);
    EXPECT_TRUE(request.output_tokens == 5 || (request.output_tokens == 7 && !is_batch));
  }
  EXPECT_NEAR(count[0], 20'000, 4 * 100);
  EXPECT_EQ(count[0] + count[1], 40'000);
}

TEST(RequestClasses, NameEachTenantOnceAndReadBackToThemselves) {
  const auto workload = read(std::string(traffic) + two_tenants);
  const std::vector<Tenant> tenants = workload.workload->tenants();
  ASSERT_EQ(tenants.size(), 2U);
  EXPECT_EQ(tenants[0].name, "web");
  EXPECT_EQ(tenants[0].weight, 2.0);
  EXPECT_EQ(tenants[1].name, "batch");
  const Value resolved = workload.workload->resolved();
  const Value* classes = resolved.find("classes");
  ASSERT_NE(classes, nullptr);
  EXPECT_EQ(std::get<ValueArray>(classes->data).size(), 3U);
}

// Calls of a conversation are one customer's; which priority each has is chance, as ever.
TEST(RequestClasses, AreOfWholeConversations) {
  const auto workload =
      read(std::string(traffic) + two_tenants + "sessions = { turns = 4, think_time = \"1 s\" }\n");
  ASSERT_EQ(workload.errors, "");
  const auto source = workload.workload->start(RandomStreams(1));
  std::map<std::uint64_t, std::vector<int>> tenants;
  while (auto first = source->next()) {
    std::vector<Request> open = {*std::move(first)};
    while (!open.empty()) {
      const Request request = open.back();
      open.pop_back();
      tenants[*request.session].push_back(request.tenant);
      source->on_finished(request.id, request.arrival);
      while (auto next = source->next_follow_up()) open.push_back(*std::move(next));
    }
  }
  EXPECT_EQ(tenants.size(), 10'000U);
  std::map<int, int> sessions;
  for (const auto& [session, of_calls] : tenants) {
    EXPECT_EQ(of_calls, std::vector<int>(4, of_calls.front()));
    ++sessions[of_calls.front()];
  }
  EXPECT_NEAR(sessions[0], 5'000, 4 * 50);
}

TEST(RequestClasses, ContradictionsAreTold) {
  const auto error = [](const std::string& classes) {
    return read(std::string(traffic) + classes + "\n").errors;
  };
  EXPECT_EQ(
      error("classes = [{ share = 1, tenant = \"a\" }, { share = 1 }]"),
      "s.toml:7:41: workload.classes.tenant: is given for some classes only; name one in each");
  EXPECT_EQ(error("classes = [{ share = 1, tenant = \"a\" }, { share = 1, tenant = \"a\", weight = "
                  "3.0 }]"),
            "s.toml:7:68: workload.classes.weight: differs from the one before for tenant \"a\"; "
            "write the same");
  EXPECT_EQ(error("classes = [{ share = 1 }]\npriorities = [{ priority = 1, share = 1 }]"),
            "s.toml:8:1: workload.priorities: and classes both divide the requests; write the "
            "priority of each class there");
  EXPECT_EQ(
      error("classes = []"),
      "s.toml:7:1: workload.classes: is empty; write a list of classes, for example [{ tenant "
      "= \"web\", share = 0.7 }, { tenant = \"batch\", share = 0.3 }]");
}

// Rows of a trace that name a model go by it; their classes' shares are drawn among that model's.
TEST(Classes, RequestsOfATraceAskForTheModelsThatItNames) {
  const std::filesystem::path folder = own_folder();
  std::ofstream file(folder / "trace.jsonl");
  for (int i = 0; i < 4000; ++i) {
    file << fmt::format(
        R"({{"arrival_s": {}, "prompt_tokens": {}, "output_tokens": 5, "model": "{}"}})"
        "\n",
        i, i % 4 == 0 ? 700 : 100, i % 4 == 0 ? "large" : "small");
  }
  file.close();
  const std::string workload = fmt::format("trace = \"{}\"\n", (folder / "trace.jsonl").string());
  const std::string classes =
      "classes = [{ model = \"small\", share = 1, priority = 1 }, { model = \"large\", share = 1 "
      "}, "
      "{ model = \"small\", share = 3, priority = 2 }]\n";
  int urgent = 0;
  for (const Request& request : requests(workload + classes)) {
    EXPECT_EQ(request.model, request.prompt_tokens == 700 ? 1 : 0);
    urgent += request.priority == 1 ? 1 : 0;
  }
  EXPECT_NEAR(urgent, 750, 4 * 24);  // a quarter of 3,000: a standard deviation is 24
  const auto read_all = read(workload + classes);
  EXPECT_EQ(read_all.workload->share_of_model(0), 0.75);
  EXPECT_EQ(read_all.workload->share_of_model(1), 0.25);
  EXPECT_THAT(read(workload + "classes = [{ model = \"small\", share = 1 }, { model = \"lrage\", "
                              "share = 1 }]\n")
                  .errors,
              testing::HasSubstr("workload.classes: name every model that the trace asks for: "
                                 "unknown model 'large'; did you mean 'lrage'?"));
}

// Other arrivals draw lengths from it, not models.
TEST(Classes, ModelsOfATraceThatIsNotReplayedAreDrawn) {
  const std::filesystem::path file = own_folder() / "lengths.jsonl";
  std::ofstream(file) << R"({"arrival_s": 0, "prompt_tokens": 9, "output_tokens": 5, "model": "x"})"
                      << "\n";
  const auto all =
      requests(fmt::format("arrivals = \"poisson\"\nrate = \"5 /s\"\nrequests = 4000\ntrace = "
                           "\"{}\"\nclasses = [{{ model "
                           "= \"a\", share = 1 }}, {{ model = \"b\", share = 1 }}]\n",
                           file.string()));
  EXPECT_NEAR(std::ranges::count(all, 0, &Request::model), 2000, 4 * 32);
}

}  // namespace
}  // namespace foretoken::request_classes_test
