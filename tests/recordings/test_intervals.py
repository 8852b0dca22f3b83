import pytest

from crest.recordings.intervals import FilePart, interval_of, overlaps

NAMES = ("from", "to")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("", ""), (0, 200)),
        (("0", "60 %"), (0, 120)),
        (("60%", ""), (120, 200)),
        (("1.5", "2 s"), (15, 20)),
        (("1.5e1", "190 samples"), (150, 190)),
        (("120 samples", "20"), (120, 200)),
    ],
)
def test_places_are_seconds_samples_or_shares(cells: tuple[str, str], expected: tuple[int, int]) -> None:
    assert interval_of(cells, NAMES, 200, 10.0) == expected


@pytest.mark.parametrize(
    ("cells", "rate", "message"),
    [
        (
            ("1 min", ""),
            10.0,
            r"from must be in seconds \(12.5\), samples \(6400 samples\) or a share \(60 %\), got '1 min'",
        ),
        (("nan", ""), 10.0, "from must be in seconds"),
        (("", "21"), 10.0, "0 <= from < to <= the file's 200 samples = 20 s, got 'nothing' and '21'"),
        (("5", "5"), 10.0, "must satisfy"),
        (("-1", "5"), 10.0, "must satisfy"),
        (("", "5"), None, "to is in seconds, so sample_rate must be given"),
    ],
)
def test_what_is_no_part_of_a_file_is_refused(
    cells: tuple[str, str], rate: float | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        interval_of(cells, NAMES, 200, rate)


def test_neighbours_stay_neighbours_at_another_rate() -> None:
    for middle in range(1, 100):
        left, right = (FilePart(*ends).scaled(3, 7) for ends in ((0, middle), (middle, 100)))
        assert left.last == right.first


def test_every_row_that_overlaps_an_earlier_one_is_found() -> None:
    parts = [(5, FilePart(0, 100)), (2, FilePart(10, 20)), (3, FilePart(30, 40)), (4, FilePart(100, 110))]
    assert sorted(overlaps(parts)) == [(5, 2), (5, 3)]
    assert list(overlaps([(2, FilePart(0, 5)), (3, FilePart(5, 9))])) == []
