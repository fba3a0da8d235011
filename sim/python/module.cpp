// The compiled part of the Python module `foretoken`: simulate(), predict() and compare() on plain
// dicts. The package beside it (foretoken/__init__.py) is what notebooks import; what it takes from
// the program instead is in foretoken/_commands.py.
// Every simulation runs in a child process, as in the library below; the interpreter's lock is
// given up meanwhile. What it leaves out: plug-ins, which are C++.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/python/value_cast.hpp"

namespace py = pybind11;

namespace foretoken {
namespace {

/// A scenario as people give it: a dict, or the path of a TOML file.
Question question_of(const py::object& scenario, const std::vector<std::string>& overrides,
                     const std::filesystem::path& folder) {
  if (py::isinstance<py::dict>(scenario)) {
    return {value_of(scenario, "scenario"), overrides, folder};
  }
  if (!py::isinstance<py::str>(scenario) && !py::hasattr(scenario, "__fspath__"))
    throw ConfigError({"scenario"}, "must be a dict or the path of a TOML file");
  return load_question(scenario.cast<std::filesystem::path>(), overrides);
}

py::object simulate_question(const py::object& scenario, const std::vector<std::string>& set,
                             const std::filesystem::path& folder, bool requests) {
  const Question question = question_of(scenario, set, folder);
  Answer answer;
  {
    const py::gil_scoped_release others_run;
    answer = simulate(question);
  }
  if (requests) answer.report.set("requests_csv", answer.requests_csv);
  return object_of(answer.report);
}

py::object predict_kernels(const py::object& kernels, const PricingChoice& choice) {
  const bool single = py::isinstance<py::dict>(kernels);
  const bool is_list = py::isinstance<py::iterable>(kernels) && !py::isinstance<py::str>(kernels);
  if (!is_list) {  // as a dict is, too
    throw ConfigError({"kernels"},
                      "must be a kernel, as {\"kernel\": \"gemm\", …}, or a list of them");
  }
  std::vector<Value> asked;
  if (single) {
    asked.push_back(value_of(kernels, "kernel"));
  } else {
    for (const py::handle kernel : kernels) asked.push_back(value_of(kernel, "kernel"));
  }
  const std::vector<Value> answers = predict(asked, choice);
  return single ? object_of(answers.front()) : object_of(ValueArray(answers));
}

/// {"deployment.tensor_parallel": [1, 2, 4]} as choices, each value as --set would spell it.
std::vector<LayoutChoice> choices_of(const py::dict& vary) {
  std::vector<LayoutChoice> choices;
  for (const auto& [key, values] : vary) {
    const auto name = key.cast<std::string>();
    const bool is_list = py::isinstance<py::iterable>(values) && !py::isinstance<py::str>(values) &&
                         !py::isinstance<py::dict>(values);
    if (!is_list)
      throw ConfigError({name}, "must be a list of the values to compare, as [1, 2, 4]");
    LayoutChoice choice{name, name.substr(name.rfind('.') + 1), {}};
    for (const py::handle value : values)
      choice.values.push_back(assignment_text(value_of(value, name)));
    choices.push_back(std::move(choice));
  }
  return choices;
}

py::object compare_layouts_of(const py::object& scenario, const py::dict& vary,
                              const std::vector<std::string>& set,
                              const std::filesystem::path& folder, std::size_t jobs) {
  const Question question = question_of(scenario, set, folder);
  const std::vector<LayoutChoice> choices = choices_of(vary);
  Value comparison;
  {
    const py::gil_scoped_release others_run;
    comparison = compare(question, choices, jobs);
  }
  return object_of(comparison);
}

void add_exceptions(py::module_& module) {
  py::register_exception<ConfigError>(module, "ConfigError", PyExc_ValueError);
  py::register_exception<PredictionError>(module, "PredictionError", PyExc_ValueError);
  py::register_exception<RunError>(module, "RunError", PyExc_RuntimeError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Interrupted&) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
}

}  // namespace

PYBIND11_MODULE(_foretoken, module) {
  module.doc() = "The compiled part of foretoken.";
  const py::object own_name = module.attr("__name__");
  module.attr("__name__") = "foretoken";  // what messages call its exceptions
  module.attr("__version__") = version();
  add_exceptions(module);
  module.attr("__name__") = own_name;
  module.def("simulate", &simulate_question, py::arg("scenario"), py::kw_only(),
             py::arg("set") = std::vector<std::string>(), py::arg("folder") = ".",
             py::arg("requests") = false, "As foretoken.simulate(), but for a plain dict.");
  module.def(
      "scenario_text",
      [](const py::dict& scenario) { return to_toml(value_of(scenario, "scenario")); },
      py::arg("scenario"), "A scenario as a TOML file holds it.");
  module.def(
      "predict",
      [](const py::object& kernels, std::string gpu, std::string cluster, std::string predictor,
         std::string communication, bool explain) {
        return predict_kernels(kernels, {std::move(gpu), std::move(cluster), std::move(predictor),
                                         std::move(communication), explain});
      },
      py::arg("kernels"), py::kw_only(), py::arg("gpu") = "", py::arg("cluster") = "",
      py::arg("predictor") = "synperf", py::arg("communication") = "model",
      py::arg("explain") = false,
      "Prices one kernel (a dict) or many (a list of dicts) on a GPU or cluster: the same dicts\n"
      "with time_us, bound_by, origin and expected_error, and cold: weights and inputs come from\n"
      "DRAM, unless the dict says False.");
  module.def(
      "compare", &compare_layouts_of, py::arg("scenario"), py::arg("vary"), py::kw_only(),
      py::arg("set") = std::vector<std::string>(), py::arg("folder") = ".", py::arg("jobs") = 0,
      "Runs every combination of vary, {\"deployment.tensor_parallel\": [1, 2, 4]}, and sets\n"
      "the runs side by side: a dict with 'rows' and 'best'. jobs: runs at once, 0 = one a\n"
      "processor.");
}

}  // namespace foretoken
