"""Tables as scripts and spreadsheets write them, and what is said of those that nobody can read."""

from pathlib import Path

import pytest

from triton_ensembles.building.variants.table import Row, Table, clone_names, read_table, table_of
from triton_ensembles.ground.errors import EnsembleError

WRONG_NAMES = ("a/b", "../a", "a.b", "-a", "ä", "a b", "a" * 101)
ROWS = [Row(2, "a", "weights/a"), Row(3, "b", "", {"second.most": "5"})]


def table(folder: Path, content: str | bytes) -> Table:
    path = folder / "variants.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path)


@pytest.mark.parametrize(
    "content",
    [
        "name,files,second.most\na,weights/a,\nb,,5\n",
        "name;files;second.most\na;weights/a;\nb;;5",  # where the comma is in numbers
        "name\tfiles\tsecond.most\na\tweights/a\nb\t\t5\n",
        "\ufeffname,files,second.most\r\na,weights/a,\r\nb,,5\r\n",
        '"name","files","second.most"\n"a","weights/a",""\n" b ","","5"\n',
        "second.most,files,name\n,weights/a,a\n5,,b\n",
        "name,files,second.most,\na,weights/a,,\nb,,5,\n,,,\n",
    ],
)
def test_what_programs_write_is_read(tmp_path: Path, content: str) -> None:
    assert list(table(tmp_path, content).rows) == ROWS


def test_empty_rows_do_not_count_and_lines_stay_right(tmp_path: Path) -> None:
    """A fault in the table is looked for by its line."""
    rows = table(tmp_path, '\n\nname,files\n\na,"one\ntwo"\n,\n  \nb,weights/b\n').rows
    assert [(row.line, row.name, row.files) for row in rows] == [(5, "a", "one\ntwo"), (9, "b", "weights/b")]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (",weights/a", "this row has no name"),
        *((f"{name},weights/a", "is not a name") for name in WRONG_NAMES),
        ("a,", "this row changes nothing"),
        ("a", "this row changes nothing"),
        ("a,weights/a,5", "more cells than the header"),
        ("good,weights/a", "'good' is also the name in line 2"),
    ],
)
def test_a_row_that_cannot_be_used_says_why(tmp_path: Path, row: str, fault: str) -> None:
    first, second = table(tmp_path, f"name,files\ngood,weights/good\n{row}\n").rows
    assert fault in second.fault and second.line == 3
    assert bool(first.fault) == ("also the name" in fault)  # nobody knows which of the two is meant


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((content, "there is no column 'name'") for content in ("", "files\nweights/a\n")),
        ("a,weights/a\n", "there is no column 'a'"),
        ("Name,files\na,weights/a\n", "there is no column 'Name'.*did you mean name"),
        ("name,file\na,weights/a\n", "there is no column 'file'.*did you mean files"),
        ("name,folder\na,weights/a\n", "the columns are name, files, and STEP.PARAMETER"),
        ("name,files,files\na,b,c\n", "the column 'files' is there twice"),
        ("name,files\n", "this table has no row"),
        ('name,files\na,"weights\n', "variants.csv:2: this is not a CSV"),
        ("name,files\na,b\n".encode("utf-16"), "not a text file in UTF-8"),
        (b"name,files\n\xe4,weights/a\n", "not a text file in UTF-8"),
        (f"name,files\na,{'x' * 200_000}\n", "this is not a CSV"),
    ],
)
def test_a_table_that_nobody_can_read_is_refused_in_a_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(EnsembleError, match=message) as caught:
        table(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_a_table_of_names_and_names_without_a_table_are_the_same(tmp_path: Path) -> None:
    assert list(table(tmp_path, "name\na\nb\n").rows) == [Row(2, "a"), Row(3, "b")]
    rows = table_of(["a", *WRONG_NAMES, "b", "b"]).rows
    assert [row.name for row in rows if not row.fault] == ["a"]


def test_numbered_names_sort_in_the_order_of_their_numbers() -> None:
    names = clone_names("t", 10_001)
    assert names == sorted(names) and names[0] == "t_00000" and clone_names("tenant", 3)[-1] == "tenant_0002"
    for prefix in ("", *WRONG_NAMES):
        with pytest.raises(EnsembleError, match="is not a name that a clone can have"):
            clone_names(prefix, 1)
