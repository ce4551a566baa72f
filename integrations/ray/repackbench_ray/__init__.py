"""Runs the shards of ``repackbench fleet`` as tasks of a Ray cluster."""

import argparse
import ctypes
import os
import pathlib
import signal
import subprocess
import sys

import ray

#: A custom resource, of which each node has 1: a task that takes all of it is alone there.
NODE = "repackbench_node"

#: The exit code of repackbench for what may succeed in another try (EX_TEMPFAIL).
TRY_AGAIN = 75


class TryAgain(Exception):
    """The program was killed, or says that another try may succeed."""


def end_with_worker():
    """Lets the kernel kill this process when its worker dies: the next try continues the same file."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_shard(command, number, count, folder):
    """Runs one shard and returns its records. What an earlier try left in ``folder`` is not done again."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"shard-{number}-of-{count}.jsonl")
    words = [*command, "--shard", f"{number}/{count}", "--json", path, "--resume", "--quiet"]
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=end_with_worker,
    )
    message = done.stderr.decode(errors="replace").strip()
    if done.returncode == TRY_AGAIN or done.returncode < 0:
        raise TryAgain(f"shard {number}: exit code {done.returncode}: {message}")
    if done.returncode != 0:
        return number, None, f"exit code {done.returncode}: {message}"
    return number, pathlib.Path(path).read_bytes(), None


def resources_of(options):
    """What a task takes: a core, or with --alone the whole node."""
    if options.alone:
        return {"num_cpus": 0, "resources": {NODE: 1}}
    return {"num_cpus": 1, "resources": {NODE: 0.001}}


def command_of(options, words):
    """The command of every task: one thread for its core, or with --alone all of the node's."""
    is_given = any(word.split("=")[0] == "--threads" for word in words)
    threads = [] if options.alone or is_given else ["--threads", "1"]
    return [options.program, "fleet", *threads, *words]


def gather(options, command):
    """Runs all shards, writes each as it ends, and returns the number of those that failed."""
    task = ray.remote(max_retries=options.retries, retry_exceptions=[TryAgain], **resources_of(options))(run_shard)
    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    numbers = range(1, options.shards + 1)
    wanted = [number for number in numbers if not (output / f"shard-{number}.jsonl").exists()]
    waiting = {task.remote(command, number, options.shards, options.work): number for number in wanted}
    failed = 0
    while waiting:
        (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
        number = waiting.pop(ready)
        try:
            _, records, error = ray.get(ready)
        except (ray.exceptions.RayError, TryAgain) as failure:
            records, error = None, str(failure).strip().splitlines()[-1]
        if records is None:
            failed += 1
            print(f"shard {number} failed: {error}", file=sys.stderr)
            continue
        unfinished = output / f".shard-{number}.jsonl"
        unfinished.write_bytes(records)
        unfinished.rename(output / f"shard-{number}.jsonl")
        print(f"shard {number} of {options.shards} is done, {len(waiting)} left", file=sys.stderr)
    return failed


def main(arguments=None):
    """The command line. Returns the exit code: 0 done, 75 some shards failed and another run tries them again."""
    parser = argparse.ArgumentParser(prog="repackbench-ray", description=__doc__)
    parser.add_argument("--address", default="auto", help="the cluster's address [default: auto]")
    parser.add_argument("--program", default="repackbench", help="repackbench on every node")
    parser.add_argument("--shards", type=int, required=True, metavar="N", help="the number of tasks")
    parser.add_argument("--output", required=True, metavar="DIR", help="where the driver writes the shards")
    parser.add_argument("--work", required=True, metavar="DIR", help="a folder on each node, or one that all share")
    parser.add_argument("--retries", type=int, default=5, metavar="N", help="tries after the first [default: 5]")
    parser.add_argument("--alone", action="store_true", help="one task a node, so that nothing disturbs its timings")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- FLEET", help="arguments of repackbench fleet")
    options = parser.parse_args(arguments)
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    ray.init(address=options.address, log_to_driver=False)
    return TRY_AGAIN if gather(options, command_of(options, words)) else 0
