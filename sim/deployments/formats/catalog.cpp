// The ways of writing a deployment down that come with Foretoken.
#include "sim/deployments/deployment_format.hpp"

namespace foretoken {

std::unique_ptr<DeploymentFormat> dynamo_deployment();
std::unique_ptr<DeploymentFormat> kubernetes_deployment();
std::unique_ptr<DeploymentFormat> llm_d_deployment();
std::unique_ptr<DeploymentFormat> production_stack_deployment();
std::unique_ptr<DeploymentFormat> compose_deployment();
std::unique_ptr<DeploymentFormat> shell_deployment();

DeploymentFormatRegistry deployment_format_registry() {
  DeploymentFormatRegistry registry("deployment format");
  registry.add("dynamo", "Dynamo's DynamoGraphDeployment", dynamo_deployment);
  registry.add("kubernetes", "Kubernetes manifests", kubernetes_deployment);
  registry.add("llm_d", "Helm values of llm-d's model service", llm_d_deployment);
  registry.add("production_stack", "Helm values of vLLM's production stack",
               production_stack_deployment);
  registry.add("compose", "a Docker Compose file", compose_deployment);
  registry.add("shell", "a launch command or script", shell_deployment);
  return registry;
}

}  // namespace foretoken
