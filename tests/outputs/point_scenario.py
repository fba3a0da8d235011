"""The scenario of a measured point: `validate --silicon --scenario-of ID` prints what `simulate`
takes and what `validate` simulated, with the same changes; an id that nobody has is told.

    point_scenario.py FORETOKEN
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HEADER = (
    "id,silicon_data_source,backend,backend_version,model_path,system,mode,gemm_quant_mode,"
    "moe_quant_mode,isl,osl,batch_size,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,"
    "silicon_ttft_ms,silicon_tpot_ms\n"
)
ROW = "{},silicon_concurrency=4,vllm,0.12.0,Qwen/Qwen3-8B,h100_sxm,agg,,,{},64,4,1,1,1,1,1,90,8\n"


def main(foretoken: str) -> None:
    def run(*arguments: str, status: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run([foretoken, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == status, (arguments, done.returncode, done.stderr)
        return done

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "points.csv")
        table.write_text(HEADER + ROW.format("short", 512) + ROW.format("long", 2048).replace(",90,", ",95,"))
        asked = ["validate", "--silicon", str(table), "--set", "run.seed=3"]
        points = {point["id"]: point for point in json.loads(run(*asked, "--json").stdout)["points"]}
        assert set(points) == {"short", "long"}, points
        for name, point in points.items():
            scenario = Path(folder, name + ".toml")
            scenario.write_text(run(*asked, "--scenario-of", name).stdout)
            report = json.loads(run("simulate", str(scenario), "--json").stdout)
            simulated = point["simulated_ttft_ms"]
            assert abs(report["ttft_ms"]["mean"] / simulated - 1) < 1e-6, (name, simulated, report["ttft_ms"])
        hint = run(*asked).stdout
        assert "--scenario-of " in hint, hint
        told = run(*asked, "--scenario-of", "shrt", status=2).stderr
        assert "did you mean 'short'?" in told, told

        # Rows that cannot be simulated are told with their place, and say nothing of the others.
        odd = table.with_name("odd.csv")
        odd.write_text(HEADER + ROW.format("three", 512).replace(",4,1,1,", ",4,3,1,")
                       + ROW.format("short", 512).replace(",90,", ",91,"))
        told = run("validate", "--silicon", str(odd)).stdout
        assert "1 point not simulated: tensor_parallel = 3 does not divide" in told, told
        assert "(odd.csv:2)" in told, told
        odd.write_text(HEADER + ROW.format("three", 512).replace(",4,1,1,", ",4,3,1,"))
        run("validate", "--silicon", str(odd), status=1)
        # Without any point there is nothing to say.
        odd.write_text(HEADER)
        told = run("validate", "--silicon", str(odd), status=2).stderr
        assert told.endswith("odd.csv: holds no row below its header; name another file\n"), told
        odd.write_text(HEADER + ROW.format("short", -4))
        told = run("validate", "--silicon", str(odd), status=2).stderr
        assert "odd.csv:2: no point is left: all 1 rows are excluded; this one: isl must be" in told, told


main(sys.argv[1])
