"""Runs the shards of ``repackbench fleet`` as tasks of a Ray cluster."""

import argparse
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import ray

#: A custom resource, of which each node has 1: a task that takes all of it is alone there.
NODE = "repackbench_node"

#: The exit code of repackbench for what may succeed in another try (EX_TEMPFAIL).
TRY_AGAIN = 75

#: The exit codes of a failure, and of a command line that is wrong.
FAILED, USAGE = 1, 2


class TryAgain(Exception):
    """The program was killed, or says that another try may succeed."""


class Refused(Exception):
    """What is in the folder of the output does not belong to this run."""


def end_with_worker():
    """Lets the kernel kill this process when its worker dies: the next try continues the same file."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def name_of(number, count):
    """The name of a shard's file."""
    return f"shard-{number}-of-{count}.jsonl"


def run_shard(command, number, count, folder, earlier):
    """Runs one shard. Returns its number, its records, and the exit code and message of a failure.

    What an earlier try left in ``folder`` is not done again, nor what ``earlier`` has, the records of an earlier run. The
    program compares its options with those that the records name, and refuses others.
    """
    os.makedirs(folder, exist_ok=True)
    path = pathlib.Path(folder, name_of(number, count))
    if earlier is not None and not (path.exists() and path.read_bytes().startswith(earlier)):
        unfinished = path.with_name(f".{path.name}")
        unfinished.write_bytes(earlier)
        unfinished.rename(path)
    words = [*command, "--shard", f"{number}/{count}", "--json", str(path), "--resume", "--quiet"]
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
        return number, None, (done.returncode, message)
    return number, path.read_bytes(), None


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


def settings_of(path):
    """The options that decide results, as the first record of a shard names them."""
    with path.open("rb") as lines:
        try:
            record = json.loads(next(lines, b""))
        except ValueError:
            record = None
    if not isinstance(record, dict) or record.get("record") != "fleet-run":
        raise Refused(f"{path}: expected a shard of a fleet")
    return str(record.get("settings"))


def finished_shards(output, count):
    """The shards in the folder ``output`` by number. Refuses what is of another run."""
    found = {}
    for path in sorted(output.glob("shard-*.jsonl")):
        name = re.fullmatch(r"shard-(\d+)-of-(\d+)\.jsonl", path.name)
        if name is None or int(name[2]) != count:
            raise Refused(f"{path}: the file is of a run with another number of shards than {count}")
        found[int(name[1])] = path
    if len({settings_of(path) for path in found.values()}) > 1:
        raise Refused(f"{output}: the shards were written with different options")
    return found


def run_tasks(task, options, command, numbers, found):
    """Runs the shards with these numbers, and yields each as it ends: its number, its records, and why it failed."""
    waiting = {}
    for number in numbers:
        earlier = found[number].read_bytes() if number in found else None
        waiting[task.remote(command, number, options.shards, options.work, earlier)] = number
    while waiting:
        (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
        number = waiting.pop(ready)
        try:
            yield ray.get(ready)
        except (ray.exceptions.RayError, TryAgain) as failure:
            yield number, None, (TRY_AGAIN, str(failure).strip().splitlines()[-1])


def is_start(line):
    """Whether a record says no more than that the program was started."""
    return json.loads(line).get("record") == "fleet-run"


def keep(path, records, earlier):
    """Writes the records of a shard, unless nothing was done since the earlier ones."""
    if earlier is not None and records.startswith(earlier) and all(map(is_start, records[len(earlier) :].splitlines())):
        return
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_bytes(records)
    unfinished.rename(path)


def gather(options, command):
    """Runs all shards and writes each as it ends. Returns the exit code of the worst failure, or 0.

    A shard that is there runs first and alone: the program refuses it if it was written with other options, and then
    nothing else begins.
    """
    task = ray.remote(max_retries=options.retries, retry_exceptions=[TryAgain], **resources_of(options))(run_shard)
    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    found = finished_shards(output, options.shards)
    first = sorted(found)[:1]
    rest = [number for number in range(1, options.shards + 1) if number not in first]
    codes, left = set(), options.shards
    for numbers in (first, rest):
        for number, records, failure in run_tasks(task, options, command, numbers, found):
            left -= 1
            if failure is not None:
                code, message = failure
                codes.add(code)
                print(f"shard {number} failed: exit code {code}: {message}", file=sys.stderr)
                if code == USAGE:
                    return USAGE
                continue
            earlier = found[number].read_bytes() if number in found else None
            keep(output / name_of(number, options.shards), records, earlier)
            print(f"shard {number} of {options.shards} is done, {left} left", file=sys.stderr)
    return FAILED if codes - {TRY_AGAIN} else max(codes, default=0)


def main(arguments=None):
    """The command line. Returns the exit code.

    0: done. 75: some shards failed for now, and another run tries them again. 1: some failed for another reason. 2: the
    command line is wrong, or the folder of the output has shards of another run.
    """
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
    try:
        return gather(options, command_of(options, words))
    except Refused as refused:
        print(f"repackbench-ray: {refused}\nhint: name another --output", file=sys.stderr)
        return USAGE
