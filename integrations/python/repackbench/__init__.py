"""Reads the records and results of the program ``repackbench``.

A file of records, which ``--json`` writes, has one JSON object a line. ``records`` returns the objects as they are,
``runs`` makes a flat row of each run, and ``results`` has the program compare the runs. ``to_pandas`` and ``to_arrow``
make a table of rows. Errors are ``ReadError``, or ``OSError`` where a file cannot be read.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sysconfig
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Union

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["NEWEST_SCHEMA", "ReadError", "program", "records", "results", "runs", "to_arrow", "to_pandas"]

#: The newest version of records that this module knows.
NEWEST_SCHEMA = 3

#: A path of a file.
Path = Union[str, "os.PathLike[str]"]

#: One line of a file of records.
Record = Dict[str, Any]

#: One row of a table: values by the name of their column.
Row = Dict[str, Any]


class ReadError(ValueError):
    """A file does not hold what was expected. The message says where."""


def records(*paths: Path, kind: Optional[str] = None) -> Iterator[Record]:
    """The records of all files in turn, only those of one kind if it is named: ``"run"``, ``"estimate"``, ``"size"``...

    As in the program, a last line that a killed process left incomplete is left out, and a record of a newer schema
    is an error.
    """
    for path in paths:
        with open(path, encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                record = _record(line, f"{os.fspath(path)}:{number}")
                if record is not None and kind in (None, record.get("record", "run")):
                    yield record


def _record(line: str, place: str) -> Optional[Record]:
    """The record in a line; ``None`` if the line was never finished."""
    try:
        record = json.loads(line)
    except ValueError as error:
        if not line.endswith("\n"):
            return None
        raise ReadError(f"{place}: expected a JSON object: {error}") from error
    schema = record.get("schema") if isinstance(record, dict) else None
    if not isinstance(schema, int):
        raise ReadError(f"{place}: expected a record with a number as `schema`")
    if schema > NEWEST_SCHEMA:
        raise ReadError(f"{place}: schema {schema}, expected at most {NEWEST_SCHEMA}")
    return record


def runs(*paths: Path) -> List[Row]:
    """One row for each run, with a dot in the names of nested fields, as in ``workload.name`` or ``sample.user_ns``."""
    return [_flat(record) for record in records(*paths, kind="run")]


def _flat(record: Record, prefix: str = "") -> Row:
    row: Row = {}
    for name, value in record.items():
        if isinstance(value, dict):
            row.update(_flat(value, f"{prefix}{name}."))
        else:
            row[prefix + name] = value
    return row


def results(*paths: Path) -> List[Row]:
    """The rows of ``repackbench report --csv``: sizes, ratios of times with their intervals, and verdicts.

    Whole numbers are ``int``, other numbers ``float``, and ``true`` and ``false`` are ``bool``; an empty field is ``None``.
    """
    words = [program(), "report", "--csv", "-", *(os.fspath(path) for path in paths)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise ReadError(f"exit code {done.returncode}: {done.stderr.strip()}")
    return [{name: _typed(text) for name, text in row.items()} for row in csv.DictReader(done.stdout.splitlines())]


def _typed(text: str) -> Union[str, int, float, bool, None]:
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]+\.[0-9]+(e-?[0-9]+)?", text):
        return float(text)
    return {"true": True, "false": False, "": None}.get(text, text)


def program() -> str:
    """The path of the program: the one that was installed with this module, or the one on the PATH."""
    installed = os.path.join(sysconfig.get_path("scripts"), "repackbench")
    found = installed if os.access(installed, os.X_OK) else shutil.which("repackbench")
    if found is None:
        raise ReadError(f"no program repackbench: expected {installed}, or one on the PATH")
    return found


def to_pandas(rows: Iterable[Row]) -> "pandas.DataFrame":
    """A data frame with a column for each name in any row."""
    import pandas

    return pandas.DataFrame(list(rows))


def to_arrow(rows: Iterable[Row]) -> "pyarrow.Table":
    """An Arrow table with a column for each name in any row, and null where a row has none."""
    import pyarrow

    rows = list(rows)
    names = {name: None for row in rows for name in row}
    return pyarrow.table({name: [row.get(name) for row in rows] for name in names})
