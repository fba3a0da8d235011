"""What --export writes holds against what reads such files: Docker Compose's own schema
(`docker-compose config`), and Kubernetes' API as its Python client has it, generated from the API's
OpenAPI description: no field that it does not know, none missing, none of another type. Helm values,
Dynamo's graphs and LeaderWorkerSets have no schema in Debian or npm; the containers and pods within are
Kubernetes', and of the production stack the keys that its chart reads are listed here.

    /usr/bin/python3 manifests.py FORETOKEN SOURCE EXAMPLE…

Debian's Python, because these are Debian's packages. Status 77: they are not installed.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import yaml
    from kubernetes import client
except ImportError:
    print("skipped: no Kubernetes client (Debian: python3-kubernetes)")
    sys.exit(77)
if shutil.which("docker-compose") is None:
    print("skipped: no docker-compose (Debian: docker-compose)")
    sys.exit(77)

program, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
plain = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object}


def check(value, kind, place):
    """Raises ValueError where `value` is no `kind` of the API; returns the client's object of it."""
    if match := re.fullmatch(r"list\[(.*)\]", kind):
        if not isinstance(value, list):
            raise ValueError(f"{place}: must be a list")
        return [check(each, match[1], f"{place}[{i}]") for i, each in enumerate(value)]
    if match := re.fullmatch(r"dict\(str, (.*)\)", kind):
        # Quantities may be whole numbers.
        each_kind = "object" if place.endswith(("limits", "requests")) else match[1]
        return {key: check(each, each_kind, f"{place}.{key}") for key, each in value.items()}
    if kind in plain:
        if not isinstance(value, plain[kind]) or (kind == "int" and isinstance(value, bool)):
            raise ValueError(f"{place}: must be {kind}, is {value!r}")
        return value
    model = getattr(client, kind)
    attributes = {name: attribute for attribute, name in model.attribute_map.items()}
    members = {}
    for key, each in value.items():
        if key not in attributes:
            raise ValueError(f"{place}: {kind} has no {key}")
        attribute = attributes[key]
        members[attribute] = check(each, model.openapi_types[attribute], f"{place}.{key}")
    try:
        return model(**members)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def check_worker_set(path, document):
    """The labels that its leaders get."""
    assert document["apiVersion"] == "leaderworkerset.x-k8s.io/v1", path
    check(document["metadata"], "V1ObjectMeta", f"{path}: metadata")
    assert set(document["spec"]) == {"replicas", "leaderWorkerTemplate"}, path
    group = document["spec"]["leaderWorkerTemplate"]
    assert set(group) == {"size", "restartPolicy", "leaderTemplate", "workerTemplate"}, path
    assert group["size"] > 1, path
    for part in ("leaderTemplate", "workerTemplate"):
        check(group[part], "V1PodTemplateSpec", f"{path}: {part}")
    labels = dict(group["leaderTemplate"]["metadata"]["labels"])
    labels["leaderworkerset.sigs.k8s.io/worker-index"] = "0"  # its controller's
    seen["LeaderWorkerSet"] += 1
    return labels


def check_kubernetes(path):
    kinds = {"Deployment": "V1Deployment", "Service": "V1Service", "StatefulSet": "V1StatefulSet",
             "Secret": "V1Secret", "ConfigMap": "V1ConfigMap"}
    documents = [each for each in yaml.safe_load_all(path.read_text()) if each is not None]
    pods = []
    for document in documents:
        if document["kind"] == "LeaderWorkerSet":
            pods.append(check_worker_set(path, document))
            continue
        checked = check(document, kinds[document["kind"]], f"{path}: {document['metadata']['name']}")
        if document["kind"] in ("Deployment", "StatefulSet"):
            labels = checked.spec.template.metadata.labels
            assert checked.spec.selector.match_labels.items() <= labels.items(), path
            pods.append(labels)
    for document in documents:
        if document["kind"] == "Service":
            wanted = document["spec"]["selector"].items()
            assert any(wanted <= labels.items() for labels in pods), f"{path}: {wanted} finds no pod"


def check_dynamo(path):
    graph = yaml.safe_load(path.read_text())
    check(graph["metadata"], "V1ObjectMeta", f"{path}: metadata")
    assert graph["kind"] == "DynamoGraphDeployment" and graph["spec"]["services"], path
    for name, service in graph["spec"]["services"].items():
        pod = dict(service["extraPodSpec"])
        container = {"name": name, **pod.pop("mainContainer")}
        check({"containers": [container], **pod}, "V1PodSpec", f"{path}: {name}")


def check_llm_d(path):
    values = yaml.safe_load(path.read_text())
    own = ("modelCommand", "mountModelVolume")  # the chart's, beside a container's
    for role in ("decode", "prefill"):
        for container in values[role].get("containers", []):
            rest = {key: value for key, value in container.items() if key not in own}
            check(rest, "V1Container", f"{path}: {role}")


def check_production_stack(path):
    values = yaml.safe_load(path.read_text())
    assert set(values) == {"servingEngineSpec"}, path
    for model in values["servingEngineSpec"]["modelSpec"]:
        needed = {"name": str, "repository": str, "tag": str, "modelURL": str, "replicaCount": int,
                  "requestCPU": int, "requestMemory": str, "requestGPU": int, "vllmConfig": dict}
        for key, kind in needed.items():
            assert isinstance(model.pop(key), kind), f"{path}: {key}"
        for term in model.pop("nodeSelectorTerms", []):
            check(term, "V1NodeSelectorTerm", f"{path}: nodeSelectorTerms")
        assert set(model) <= {"hf_token", "lwsSpec"}, f"{path}: {set(model)}"


def check_compose(path):
    services = yaml.safe_load(path.read_text())
    for config in services.get("configs", {}).values():
        if config.pop("content", None):  # younger (Compose 2.23.1) than Debian's schema
            config["file"] = "./content"
    old = path.with_suffix(".old.yaml")
    old.write_text(yaml.safe_dump(services))
    told = subprocess.run(["docker-compose", "-f", old, "config", "--quiet"], capture_output=True,
                          text=True, check=False)
    assert told.returncode == 0, f"{path}: {told.stderr}"


checks = {"kubernetes.yaml": check_kubernetes, "dynamo.yaml": check_dynamo,
          "llm-d-values.yaml": check_llm_d, "compose.yaml": check_compose,
          "production-stack-values.yaml": check_production_stack}
seen = dict.fromkeys([*checks, "LeaderWorkerSet"], 0)
with tempfile.TemporaryDirectory() as folder:
    for example in sys.argv[3:]:
        exported = Path(folder) / example
        subprocess.run([program, "simulate", source / f"examples/{example}.toml", "--quiet",
                        "--set", "workload.requests=10", "--export", exported],
                       check=True, cwd=source)
        for script in exported.glob("*.sh"):
            subprocess.run(["bash", "-n", script], check=True)
        for name, check_file in checks.items():
            if (exported / name).exists():
                check_file(exported / name)
                seen[name] += 1
    # The checks themselves can fail.
    broken = Path(folder) / "compose.yaml"
    broken.write_text("services: {a: {image: b, gpus_wanted: 4}}\n")
    for check_wrong in (lambda: check_compose(broken),
                        lambda: check({"image": "b"}, "V1Container", "broken"),
                        lambda: check({"name": "a", "ports": 8000}, "V1Container", "broken")):
        try:
            check_wrong()
        except (AssertionError, ValueError):
            continue
        sys.exit("a manifest that is wrong was taken")
for name, count in seen.items():
    print(f"{name}: {count} checked")
    assert count > 0, f"no example exports {name}"
