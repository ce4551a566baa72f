"""Reads the records and results of the program ``repackbench``.

A file of records, which ``--json`` writes, has one JSON object a line; gzip may have compressed it. ``records`` returns
the objects as they are, ``runs`` makes a flat row of each run, and ``results`` has the program compare the runs.
``to_pandas`` and ``to_arrow`` make a table of rows. Errors are ``ReadError``, or ``OSError`` where a file cannot be read.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sysconfig
import zlib
from typing import IO, TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union, cast

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

#: The first bytes of a file that gzip compressed.
_GZIP = b"\x1f\x8b"

#: The columns of ``report --csv`` with names and words, also where all of them look like numbers.
_TEXTS = frozenset(
    "arm baseline codec compared_time content deltas device experiment factor fingerprint form from kind machine"
    " quantity repository revision role size_class spec table to unit variant vcs verdict workload".split()
)


class ReadError(ValueError):
    """A file does not hold what was expected. The message says where."""


def records(*paths: Path, kind: Optional[str] = None) -> Iterator[Record]:
    """The records of all files in turn, only those of one kind if it is named: ``"run"``, ``"estimate"``, ``"size"``...

    As in the program, a last line that a killed process left incomplete is left out, and a record of a newer schema
    is an error.
    """
    for path in paths:
        with _opened(path) as lines:
            for number, line in enumerate(_lines(lines, path), 1):
                if not line.strip():
                    continue
                record = _record(line, f"{os.fspath(path)}:{number}")
                if record is not None and kind in (None, record.get("record", "run")):
                    yield record


def _opened(path: Path) -> IO[bytes]:
    """A file of records, unpacked if gzip compressed it. Its first bytes tell, as in the program."""
    file = open(path, "rb")
    if not file.peek(len(_GZIP)).startswith(_GZIP):
        return file
    return cast(IO[bytes], _Gzip(file))


class _Gzip(gzip.GzipFile):
    """A compressed file, which closes what it reads from."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(fileobj=file)
        self._file = file

    def close(self) -> None:
        super().close()
        self._file.close()


def _lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    try:
        yield from file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReadError(f"{os.fspath(path)}: expected a file that gzip compressed: {error}") from error


def _record(line: bytes, place: str) -> Optional[Record]:
    """The record in a line; ``None`` if the line was never finished."""
    try:
        record: Any = json.loads(line)
    except ValueError as error:
        if not line.endswith(b"\n"):
            return None
        raise ReadError(f"{place}: expected a JSON object: {error}") from error
    if not isinstance(record, dict) or type(record.get("schema")) is not int:
        raise ReadError(f"{place}: expected a record with a number as `schema`")
    if record["schema"] > NEWEST_SCHEMA:
        raise ReadError(f"{place}: schema {record['schema']}, expected at most {NEWEST_SCHEMA}")
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

    All values of a column have one type, and an empty field is ``None``. Columns of names and words are ``str``. The
    others are ``int`` if all of their values are whole numbers, ``float`` if all are numbers, ``bool`` if all are ``true``
    or ``false``, and ``str`` otherwise.
    """
    words = [program(), "report", "--csv", "-", "--", *(os.fspath(path) for path in paths)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise ReadError(f"exit code {done.returncode}: {done.stderr.strip()}")
    names, *rows = csv.reader(io.StringIO(done.stdout, newline=""))
    columns = [_typed(name, [row[at] for row in rows]) for at, name in enumerate(names)]
    return [dict(zip(names, row)) for row in zip(*columns)]


_Value = Union[str, int, float, bool]

#: What all values of a column may look like, and how they are read.
_TYPES: Tuple[Tuple[str, Callable[[str], _Value]], ...] = (
    ("-?[0-9]+", int),
    (r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|-?inf|NaN", float),
    ("true|false", "true".__eq__),
)


def _typed(name: str, texts: List[str]) -> List[Optional[_Value]]:
    """The values of a column."""
    found: Callable[[str], _Value] = str
    if name not in _TEXTS:
        fits = (read for form, read in _TYPES if all(re.fullmatch(form, text) for text in texts if text))
        found = next(fits, str)
    return [found(text) if text else None for text in texts]


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

    frame: pandas.DataFrame = pandas.DataFrame(list(rows))
    return frame


def to_arrow(rows: Iterable[Row]) -> "pyarrow.Table":
    """An Arrow table with a column for each name in any row, and null where a row has none."""
    import pyarrow

    rows = list(rows)
    names = {name: None for row in rows for name in row}
    return pyarrow.table({name: [row.get(name) for row in rows] for name in names})
