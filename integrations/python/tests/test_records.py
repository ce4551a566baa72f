"""Tests of the module on records that the program's own tests read. ``REPACKBENCH`` names the program."""

import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))

import repackbench  # noqa: E402

INPUTS = HERE.parents[3] / "crates/cli/tests/golden/inputs"
RUNS = INPUTS / "git_verdicts.jsonl"
ESTIMATE = INPUTS / "git_estimate.jsonl"


class Records(unittest.TestCase):
    def test_files_are_read_in_turn_and_kinds_are_told_apart(self):
        kinds = {record.get("record", "run") for record in repackbench.records(RUNS, ESTIMATE)}
        self.assertEqual(kinds, {"run", "estimate"})
        self.assertEqual(len(list(repackbench.records(RUNS, ESTIMATE, kind="estimate"))), 1)

    def test_runs_are_flat(self):
        rows = repackbench.runs(RUNS, ESTIMATE)
        self.assertEqual(len(rows), len(RUNS.read_text(encoding="utf-8").splitlines()))
        for row in rows:
            self.assertIsInstance(row["sample.user_ns"], int)
            self.assertNotIn(dict, {type(value) for value in row.values()})
            self.assertTrue(row["workload.name"])

    def test_bad_lines_are_named(self):
        cases = {
            "{}\n": ":1: expected a record with a number",
            '{"schema": 3}\n[1]\n': ":2: expected a record with a number",
            '{"schema": 3}\n{"schema"\n{"schema": 3}\n': ":2: expected a JSON object",
            '{"schema": 9}\n': ":1: schema 9, expected at most 3",
        }
        for text, message in cases.items():
            with self.subTest(text), self.assertRaisesRegex(repackbench.ReadError, message):
                list(self.read(text))

    def test_an_incomplete_last_line_is_left_out(self):
        self.assertEqual(list(self.read('{"schema": 3}\n\n{"sch')), [{"schema": 3}])

    @staticmethod
    def read(text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "records.jsonl")
            path.write_text(text, encoding="utf-8")
            yield from repackbench.records(path)


class Results(unittest.TestCase):
    def setUp(self):
        program, tested = repackbench.program, os.environ["REPACKBENCH"]
        repackbench.program = lambda: tested
        self.addCleanup(setattr, repackbench, "program", program)

    def test_the_program_compares_the_runs(self):
        rows = repackbench.results(RUNS)
        ratios = [row["ratio"] for row in rows if row["verdict"]]
        self.assertTrue(ratios)
        self.assertLessEqual({type(ratio) for ratio in ratios}, {float, int})
        self.assertEqual({row["is_valid"] for row in rows}, {True})

    def test_errors_of_the_program_are_passed_on(self):
        with self.assertRaisesRegex(repackbench.ReadError, "exit code 1: .*no-such-file"):
            repackbench.results("no-such-file.jsonl")


if __name__ == "__main__":
    unittest.main()
