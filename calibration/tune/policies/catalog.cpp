// Every policy by name.
#include "calibration/tune/policy.hpp"

namespace foretoken::tune {

std::unique_ptr<Policy> make_random(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_greedy(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_epsilon_greedy(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_flat_ucb(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_beam(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_best_of_n(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_kernelband(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_kernelband_fastest(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_kernelband_no_prior(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_kernelband_cold(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_kernelband_no_clusters(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_kernelband_v2(TableReader&, const PolicyContext&);
std::unique_ptr<Policy> make_kernelband_v2_no_mask(TableReader&, const PolicyContext&);

PolicyRegistry policy_catalog() {
  PolicyRegistry registry("policy");
  registry.add("kernelband", "KernelBand, first version: clusters, confidence bound, profile prior",
               make_kernelband);
  registry.add("kernelband_v2", "KernelBand, second version: masked bound over clusters",
               make_kernelband_v2);
  registry.add("kernelband_fastest",
               "kernelband that takes a cluster's fastest kernel, with a small bound and no prior",
               make_kernelband_fastest);
  registry.add("random", "any kernel, any strategy", make_random);
  registry.add("greedy", "fastest kernel, best strategy so far", make_greedy);
  registry.add("epsilon_greedy", "greedy, and any arm in a tenth of the rounds",
               make_epsilon_greedy);
  registry.add("flat_ucb", "UCB1 over every (kernel, strategy) by itself", make_flat_ucb);
  registry.add("beam", "beam search: every strategy on the three fastest", make_beam);
  registry.add("best_of_n", "always from the untouched kernel", make_best_of_n);
  registry.add("kernelband_no_prior", "ablation: kernelband with lambda 0",
               make_kernelband_no_prior);
  registry.add("kernelband_cold", "ablation: kernelband whose prior starts untrained",
               make_kernelband_cold);
  registry.add("kernelband_no_clusters", "ablation: kernelband with one cluster",
               make_kernelband_no_clusters);
  registry.add("kernelband_v2_no_mask", "ablation: kernelband_v2 that masks nothing",
               make_kernelband_v2_no_mask);
  return registry;
}

}  // namespace foretoken::tune
