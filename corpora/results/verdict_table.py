#!/usr/bin/env python3
"""Runs `samebits check` over every scenario, recipe and gradient mode, and holds each verdict against what it must be.

usage: verdict_table.py SAMEBITS CHECKPOINT INPUTS OUT.json ARMS [ARMS ...]

ARMS is as in --arms. Arms that differ in caching must give the table below; arms that differ in the
backend alone must be the same everywhere. Exit status 1 if any run is not as it must be.
"""
import concurrent.futures
import datetime
import itertools
import json
import os
import subprocess
import sys
import tempfile

SCENARIOS = ["train", "eval-first", "eval-between", "recompute", "two-trues", "backward-reversed",
             "stale-weight", "recipe-switch"]
RECIPES = ["current", "block", "mx", "delayed"]
MAIN_GRAD = ["accumulate", "overwrite-first"]


def expected(scenario, recipe, main_grad):
    """(cause, step, microbatch, operation, tensor or None for any) or None for the same."""
    if recipe == "delayed":
        return ("scale moved", 0, 1, "fprop", "weight scale_inv")
    if scenario == "two-trues" and main_grad == "overwrite-first":
        return ("accumulation mode", 0, 2, "wgrad", "main_grad")
    if scenario == "backward-reversed" and main_grad == "overwrite-first":
        return ("accumulation mode", 0, 0, "wgrad", "main_grad")
    if scenario == "stale-weight":
        return ("stale weight", 1, 0, "fprop", None)
    if scenario == "recipe-switch" and recipe != "mx":
        return ("stale recipe", 1, 0, "fprop", "weight scale_inv")
    return None


def run(samebits, checkpoint, inputs, arms, scenario, recipe, main_grad):
    with tempfile.TemporaryDirectory() as folder:
        report_file = os.path.join(folder, "report.json")
        done = subprocess.run(
            [samebits, "check", checkpoint, "--inputs", inputs, "--arms", arms, "--scenario", scenario,
             "--recipe", recipe, "--main-grad", main_grad, "--threads", "2", "--json", report_file],
            capture_output=True, text=True)
        row = {"arms": arms, "scenario": scenario, "recipe": recipe, "main_grad": main_grad,
               "exit": done.returncode}
        if not os.path.exists(report_file):
            return {**row, "error": done.stderr.strip(), "ok": False}
        with open(report_file) as file:
            report = json.load(file)
    a, b = arms.split(",")
    caching_differs = a.split("/")[1] != b.split("/")[1]
    want = expected(scenario, recipe, main_grad) if caching_differs else None
    first = report["first"]
    got = first and (first["cause"], first["step"], first["microbatch"], first["operation"],
                     first["tensor"] if want and want[4] else None)
    digests = report["trace_digest"]
    ok = (got == want and done.returncode == (1 if want else 0)
          and report["verdict"] == ("different" if want else "same")
          and (digests["a"] == digests["b"]) == (want is None))
    if want and recipe == "delayed" and scenario == "stale-weight":
        ok = ok and any(c["cause"] == "stale weight" and (c["step"], c["microbatch"]) == (1, 0)
                        for c in report["causes"])
    return {**row, "verdict": report["verdict"], "cause": first and first["cause"],
            "place": first and f'step {first["step"]} microbatch {first["microbatch"]} '
                               f'{first["operation"]} {first["tensor"]}',
            "tensors": report["tensors"], "bits": report["bits"], "trace_digest": digests,
            "findings": report["findings"], "ok": ok, "environment": report["environment"]}


def main():
    samebits, checkpoint, inputs, out, *arms = sys.argv[1:]
    cases = list(itertools.product(arms, SCENARIOS, RECIPES, MAIN_GRAD))
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        rows = list(pool.map(lambda case: run(samebits, checkpoint, inputs, *case), cases))
    environment = next((row["environment"] for row in rows if "environment" in row), {})
    for row in rows:
        row.pop("environment", None)
        if not row["ok"]:
            print("not as it must be:", json.dumps(row))
    wrong = sum(not row["ok"] for row in rows)
    head = json.dumps({"environment": environment, "date": datetime.date.today().isoformat(),
                       "runs": len(rows), "wrong": wrong})
    with open(out, "w") as file:
        file.write(head[:-1] + ', "rows": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]}\n")
    print(f"{len(rows)} runs, {wrong} not as they must be")
    sys.exit(wrong != 0)


main()
