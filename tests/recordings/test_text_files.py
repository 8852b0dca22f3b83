from pathlib import Path

import numpy as np
import pytest

from crest.recordings.signal_files import read_signal

TIMES = np.arange(10) / 100
VALUES = np.random.default_rng(0).normal(size=10).round(4)


def written(
    path: Path, delimiter: str, comma: bool = False, header: str | None = "time", newline: str = "\n"
) -> Path:
    rows = [f"{time:.2f}{delimiter}{value:.4f}" for time, value in zip(TIMES, VALUES, strict=True)]
    text = newline.join(row.replace(".", ",") if comma else row for row in rows)
    head = "" if header is None else f"{header}{delimiter}x{newline}"
    path.write_bytes((head + text + newline).encode())
    return path


@pytest.mark.parametrize(
    ("delimiter", "comma"),
    [
        (",", False),
        (";", False),
        (";", True),
        ("\t", False),
        ("\t", True),
        (" ", False),
        ("  ", True),
        (", ", False),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".txt"])
@pytest.mark.parametrize("header", ["time", "# time", None])
def test_separator_and_decimal_mark_are_found(
    tmp_path: Path, delimiter: str, comma: bool, suffix: str, header: str | None
) -> None:
    for newline in ("\n", "\r\n"):
        found = read_signal(written(tmp_path / f"a{suffix}", delimiter, comma, header, newline))
        np.testing.assert_array_equal(found.samples[:, 0], VALUES.astype(np.float32))
        assert found.sample_rate == 100
        assert found.channels == (None if header is None else ("x",))


def test_the_last_of_several_comments_names_the_columns(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# made on a bench\n# in spring\n# time x\n0 1.5\n0.1 2\n")
    assert read_signal(tmp_path / "a.txt").channels == ("x",)


def test_columns_of_numbers_are_named_where_another_begins_with_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,accel,state,axial\n0,1,ok,2\n0.5,2,ok,3\n")
    with pytest.raises(ValueError, match=r"line 2, column 3 .*'ok'; columns=\['accel', 'axial'\] takes"):
        read_signal(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("t,x,y\n0,1,2\n0.5,ok,3\n")
    # There it is the cell that is wrong, not the column.
    with pytest.raises(ValueError, match=r"line 3, column 2 is no number: 'ok'$"):
        read_signal(tmp_path / "b.csv")
    with pytest.raises(ValueError, match=r"line 3, column 2 is no number: 'ok'$"):
        read_signal(tmp_path / "b.csv", columns=["x"])
    (tmp_path / "c.csv").write_text("t,x,y\n0,1,2\n0.5\n")
    with pytest.raises(ValueError, match=r"line 3 has 1 column, the lines before have 3$"):
        read_signal(tmp_path / "c.csv", columns=["x"])


def test_words_that_nobody_asked_for_are_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("note,t,x\ncold,0,1\nwarm,0.5,2\n")
    found = read_signal(tmp_path / "a.csv", columns=["x"])
    assert (found.sample_rate, found.samples.tolist()) == (2.0, [[1], [2]])
    with pytest.raises(ValueError, match=r"line 2, column 1 is no number: 'cold'; columns=\['x'\] takes"):
        read_signal(tmp_path / "a.csv")
    # Without a name for the time, the first column is looked at too: here words, there times.
    (tmp_path / "b.csv").write_text("note,x\ncold,1\nwarm,2\n")
    found = read_signal(tmp_path / "b.csv", columns=["x"])
    assert (found.sample_rate, found.samples.tolist()) == (None, [[1], [2]])
    (tmp_path / "c.csv").write_text("n,x\n" + "".join(f"{n / 4},{n * n % 7}\n" for n in range(60)))
    assert read_signal(tmp_path / "c.csv", columns=["x"]).sample_rate == 4.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,b\n1,5,2,5\n1,6,2,6\n", "header names 2 columns, its rows have 4; a comma separates .* by ';'"),
        (
            'a,b\n"1,5","2,5"\n',
            "line 2, column 1 is no number: .*decimal commas, separate the columns by ';'",
        ),
        ("1,5,2\n1,5,2,5\n", "line 2 has 4 columns, the lines before have 3; a comma separates its columns"),
        # Lines as an editor counts them, with the header, comments and those that are blank.
        ("# made\n# a,b\n\n1,2\n3,\n", "line 5, column 2 is empty$"),
        ("a;b\n\n1;2\n3;2x\n", "line 4, column 2 is no number: '2x'$"),
        ("a,b\n1,2\n1_0,2\n", "line 3, column 1 is no number: '1_0'"),
        ("a;b\n1;2\n1,5;2\n1;2.5\n", "one decimal mark, got a comma in line 3 and a point in line 4"),
        ("a;b\n1.000,5;2\n", "got a comma in line 2 and a point in line 2"),
        (
            "time;x\n0;1\n1;1\n3;1\n4;1\n",
            "time column 'time' must rise by equal steps, got 2 from sample 1 to 2",
        ),
        ("time\n0\n1\n2\n", "must have a channel, got only the time column 'time'"),
        ("time,t,x\n0,0,1\n1,1,1\n", "time must say which column is the time"),
    ],
)
def test_a_bad_text_is_refused_by_name(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ValueError, match=f"file 'a.txt' cannot be read: .*{reason}"):
        read_signal(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("when,x\n", "2024-05-01T12:00:{:06.3f}Z,{}.5\n"),
        ("timestamp;x\n", "2024-05-01 12:00:{:06.3f};{},5\n"),
        ("", "2024-05-01T12:00:{:06.3f}+02:00\t{}.5\n"),
        ("note,when,x\n", "ok,2024-05-01T12:00:{:06.3f},{}.5\n"),
    ],
)
def test_dates_are_times(tmp_path: Path, header: str, row: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(header + "".join(row.format(0.9 + n / 250, n * n % 7) for n in range(60)))
    found = read_signal(path, columns=["x"] if "note" in header else None)
    assert found.sample_rate == 250
    assert found.samples[:4, 0].tolist() == [0.5, 1.5, 4.5, 2.5]


@pytest.mark.parametrize("other", ["never", "2024-05-01T12:00:02Z", "2024-05-32T12:00:02"])
def test_dates_that_are_none_are_told(tmp_path: Path, other: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"when,x\n2024-05-01T12:00:00,1\n2024-05-01T12:00:01,2\n{other},2\n")
    with pytest.raises(
        ValueError, match=f"file 'a.csv' cannot be read: line 4, column 1 is no date .*: '{other}'"
    ):
        read_signal(path)


@pytest.mark.parametrize(
    ("header", "told"), [("x,x", "'x'"), ("x,y,x,y", "'x', 'y'"), ("time,time,x", "'time'"), ("# x,x", "'x'")]
)
def test_columns_of_one_name_are_refused(tmp_path: Path, header: str, told: str) -> None:
    width = header.count(",") + 1
    (tmp_path / "a.csv").write_text(header + "\n" + (",".join(map(str, range(width))) + "\n") * 5)
    for options in ({}, {"columns": ["x"]}, {"columns": [1]}):
        with pytest.raises(ValueError, match=f"must name each column once, got {told} more than once"):
            read_signal(tmp_path / "a.csv", **options)
