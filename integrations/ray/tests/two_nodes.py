"""Runs a fleet on a cluster of two nodes on this machine, while programs, workers and a node are killed.

usage: two_nodes.py PROGRAM MANIFEST...

Compares the result with a run of one shard without Ray: the same repositories, each once.
"""

import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

RAY = pathlib.Path(sys.executable).with_name("ray")
NODE = json.dumps({"repackbench_node": 1})
SHARDS = 8
KILLS = 6


def names(files):
    """The repositories in files of records, each as often as its work ended."""
    lines = (json.loads(line) for file in files for line in file.read_text().splitlines())
    return sorted(line["name"] for line in lines if line.get("record") == "fleet")


def processes(is_meant):
    """The processes that have an argument of this kind."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(map(is_meant, words)):
            yield int(folder.name)


def kill_one(is_meant):
    """Kills the first process of this kind, if there is one."""
    for process in processes(is_meant):
        try:
            os.kill(process, signal.SIGKILL)
            return 1
        except ProcessLookupError:
            continue
    return 0


def start_node(*words):
    """Starts a node with two cores."""
    command = [RAY, "start", "--num-cpus", "2", "--resources", NODE, "--disable-usage-stats", "--node-ip-address", "127.0.0.1", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main(program, *manifests):
    """Exits with 0 if nothing is lost and nothing is done twice."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        fleet = [*manifests, "--time", "1s", "--as-found", "--codec", "zstd:3", "--workload", "traverse"]
        whole = folder / "whole.jsonl"
        subprocess.run([program, "fleet", *fleet, "--quiet", "--json", whole], check=True)
        start_node("--head", "--port", "6399", "--include-dashboard", "false")
        start_node("--address", "127.0.0.1:6399")
        try:
            kills = run_and_kill(program, fleet, folder)
        finally:
            subprocess.run([RAY, "stop", "--force"], check=False, stdout=subprocess.DEVNULL)
        expected, found = names([whole]), names((folder / "out").glob("shard-*.jsonl"))
        print(f"{len(expected)} repositories, {SHARDS} shards, killed: {kills}")
        return 0 if expected == found and all(kills.values()) else f"expected {expected}, found {found}, {kills}"


def run_and_kill(program, fleet, folder):
    """Runs the driver and kills programs, then workers, then the second node. Returns how many of each."""
    driver = [sys.executable, "-m", "repackbench_ray", "--address", "127.0.0.1:6399", "--shards", str(SHARDS)]
    driver += ["--program", program, "--output", folder / "out", "--work", folder / "work", "--retries", "20"]
    running = subprocess.Popen([*driver, "--", *fleet])
    kinds = {
        "programs": (KILLS, lambda: kill_one(lambda word: word == b"--shard")),
        "workers": (KILLS, lambda: kill_one(lambda word: word.startswith(b"ray::run_shard"))),
        "nodes": (1, kill_second_node),
    }
    kills = dict.fromkeys(kinds, 0)
    for name in itertools.cycle(kinds):
        if running.poll() is not None:
            break
        time.sleep(0.5)
        most, kill = kinds[name]
        kills[name] += kills[name] < most and kill()
    assert running.returncode == 0, f"the driver ended with {running.returncode}"
    return kills


def kill_second_node():
    """Kills the newer of the two raylets, with which its workers end."""
    found = processes(lambda word: word.startswith(b"--raylet_socket_name"))
    raylets = sorted(found, key=lambda process: os.stat(f"/proc/{process}").st_ctime)
    if len(raylets) < 2:
        return 0
    os.kill(raylets[-1], signal.SIGKILL)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
