"""Tests of the module on records that the program's own tests read. ``REPACKBENCH`` names the program."""

import gzip
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
            '{"schema": true}\n': ":1: expected a record with a number",
            b'{"schema": 3, "note": "\xff"}\n': ":1: expected a JSON object: .*utf-8",
            gzip.compress(b'{"schema": 3}\n')[:-4]: "records.jsonl: expected a file that gzip compressed",
        }
        for text, message in cases.items():
            with self.subTest(text), self.assertRaisesRegex(repackbench.ReadError, message):
                list(self.read(text))

    def test_compressed_files_are_read_whatever_their_name(self):
        compressed = gzip.compress(RUNS.read_bytes()[:1000]) + gzip.compress(RUNS.read_bytes()[1000:])
        self.assertEqual(list(self.read(compressed)), list(repackbench.records(RUNS)))

    def test_an_incomplete_last_line_is_left_out(self):
        self.assertEqual(list(self.read('{"schema": 3}\n\n{"sch')), [{"schema": 3}])
        self.assertEqual(list(self.read(b'{"schema": 3}\n{"name": "\xc3')), [{"schema": 3}])

    @staticmethod
    def read(text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "records.jsonl")
            path.write_bytes(text.encode() if isinstance(text, str) else text)
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
        self.assertEqual({row["is_valid"] for row in rows}, {True})

    def test_all_values_of_a_column_have_one_type(self):
        files = sorted(INPUTS.glob("*.jsonl"))
        self.assertTrue(files)
        for file in files:
            types = {}
            for name, value in (item for row in repackbench.results(file) for item in row.items()):
                if value is not None:
                    types.setdefault(name, set()).add(type(value))
            with self.subTest(file.name):
                self.assertEqual({name: found for name, found in types.items() if len(found) > 1}, {})
                for name, expected in {"repository": str, "ratio": float, "size_bytes": int, "is_valid": bool}.items():
                    self.assertEqual(types.get(name, {expected}), {expected}, name)

    def test_names_that_look_like_numbers_stay_text(self):
        self.assertEqual(repackbench._typed("revision", ["1234567890", ""]), ["1234567890", None])
        self.assertEqual(repackbench._typed("ratio", ["1", "1e-7", "", "0.5"]), [1.0, 1e-7, None, 0.5])
        self.assertEqual(repackbench._typed("anything", ["true", "", "false"]), [True, None, False])
        self.assertEqual(repackbench._typed("anything", ["true", "1"]), ["true", "1"])

    def test_a_name_may_look_like_an_option(self):
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(os.chdir, os.getcwd())
            os.chdir(folder)
            pathlib.Path("--json").write_bytes(RUNS.read_bytes())
            self.assertEqual(repackbench.results("--json"), repackbench.results(RUNS))

    def test_errors_of_the_program_are_passed_on(self):
        with self.assertRaisesRegex(repackbench.ReadError, "exit code 1: .*no-such-file"):
            repackbench.results("no-such-file.jsonl")


if __name__ == "__main__":
    unittest.main()
