"""Runs a fleet on a cluster of two nodes on this machine, while programs, workers and a node are killed.

usage: two_nodes.py PROGRAM MANIFEST...

Compares the result with a run of one shard without Ray: the same repositories, each once. Then runs the driver again into
the same folder, and on a repository during which each worker is killed.
"""

import collections
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


def records(files, kind):
    """The records of this kind in files."""
    lines = (json.loads(line) for file in files for line in file.read_text().splitlines())
    return [line for line in lines if line.get("record") == kind]


def names(files):
    """The repositories in files of records, each as often as its work ended for good."""
    return sorted(line["name"] for line in records(files, "fleet") if line["end"]["outcome"] != "try-again")


def outcomes(files):
    """How many repositories ended in which way."""
    return dict(collections.Counter(line["end"]["outcome"] for line in records(files, "fleet")))


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
            began = time.monotonic()
            kills = run_and_kill(program, fleet, folder)
            elapsed = time.monotonic() - began
            shards = list((folder / "out").glob("shard-*.jsonl"))
            expected, found = names([whole]), names(shards)
            print(f"{len(expected)} repositories, {SHARDS} shards, killed: {kills}, {elapsed:.0f} s: {outcomes(shards)}")
            assert expected == found, f"expected {expected}, found {found}"
            assert all(kills.values()), kills
            check_folder(program, fleet, folder)
            check_given_up(program, folder)
        finally:
            subprocess.run([RAY, "stop", "--force"], check=False, stdout=subprocess.DEVNULL)
    return 0


def driver(program, folder, shards):
    """The command of the driver, without the arguments of the fleet."""
    words = [sys.executable, "-m", "repackbench_ray", "--address", "127.0.0.1:6399", "--shards", str(shards)]
    return [*words, "--program", program, "--output", folder / "out", "--work", folder / "work", "--retries", "20", "--"]


def check_folder(program, fleet, folder):
    """A second run into the same folder does nothing again, and refuses other shards and other options."""
    shards = sorted((folder / "out").iterdir())
    before = [shard.read_bytes() for shard in shards]
    assert [shard.name for shard in shards] == sorted(f"shard-{n}-of-{SHARDS}.jsonl" for n in range(1, SHARDS + 1))
    wrong = "--window", "7"
    cases = [(SHARDS, (), 0, ""), (SHARDS - 1, (), 2, "number of shards"), (SHARDS, wrong, 2, "with other options")]
    for count, more, code, message in cases:
        done = subprocess.run([*driver(program, folder, count), *fleet, *more], stderr=subprocess.PIPE, text=True)
        assert done.returncode == code and message in done.stderr, (count, more, done.returncode, done.stderr)
        assert sorted((folder / "out").iterdir()) == shards
        assert [shard.read_bytes() for shard in shards] == before, (count, more)
    print("a second run does nothing again, and refuses another number of shards and other options")


def check_given_up(program, folder):
    """A repository during which each worker is killed, as for lack of memory, is given up, and others are done."""
    folder = folder / "given-up"
    folder.mkdir()
    for name in ("0-hanging.git", "1.git"):
        git = ["git", "-C", folder / name, "-c", "user.name=A", "-c", "user.email=a@b"]
        subprocess.run(["git", "init", "-q", folder / name], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "A commit"], check=True)
    script = folder / "git"
    script.write_text('#!/bin/sh\ncase "$*" in *hanging.git*) exec sleep 600 ;; esac\nexec git "$@"\n')
    script.chmod(0o755)
    fleet = [folder / "0-hanging.git", folder / "1.git", "--as-found", "--codec", "zstd:3", "--git", script]
    running = subprocess.Popen([*driver(program, folder, 1), *fleet])
    work, kills = folder / "work" / "shard-1-of-1.jsonl", 0
    while running.poll() is None:
        time.sleep(0.05)
        text = work.read_text() if work.exists() else ""
        if text.count('hanging.git","event":"begun"') > kills:
            kills += kill_one(lambda word: word.startswith(b"ray::run_shard"))
    assert running.returncode == 0, f"the driver ended with {running.returncode}"
    ends = [line["end"] for line in records([folder / "out" / "shard-1-of-1.jsonl"], "fleet")]
    assert sorted(end["outcome"] for end in ends) == ["done", "failed"], ends
    assert kills == 3 and any("killed in 3 of 3 tries" in end.get("message", "") for end in ends), (kills, ends)
    print(f"a repository during which {kills} workers were killed is given up")


def run_and_kill(program, fleet, folder):
    """Runs the driver and kills programs, then workers, then the second node. Returns how many of each."""
    running = subprocess.Popen([*driver(program, folder, SHARDS), *fleet])
    work = os.fsencode(folder / "work" / "shard-")
    kinds = {
        "programs": (KILLS, lambda: kill_one(lambda word: word.startswith(work))),
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
