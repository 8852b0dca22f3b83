"""The sizes that the pages of a Parquet file tell. pyarrow takes as much memory as a page says before it unpacks a byte.

A page's header is a struct in Thrift's compact form: fields with a kind and a number, in lists and structs of any depth.
"""

from collections.abc import Collection
from typing import Any

_DEEPEST = 16
"""Structs and lists inside of each other: a page's header has three."""
_LONGEST = 2**16
"""Bytes of a header. Those of real files have some tens, and with statistics of long texts some thousands."""
_FLAGS, _WHOLE, _I32 = {1, 2}, {4, 5, 6}, 5
_BYTE, _DOUBLE, _TEXT, _LIST, _SET, _MAP, _STRUCT = 3, 7, 8, 9, 10, 11, 12
_UNPACKED, _PACKED = 2, 3
"""Numbers of the fields that hold a page's two sizes."""


def is_wanted(part: Any, columns: Collection[str]) -> bool:
    """Whether a part of a file, which may be one of a nested column, belongs to one of these columns."""
    path = part.path_in_schema
    return any(path == name or path.startswith(f"{name}.") for name in columns)


def room_of_pages(handle: Any, metadata: Any, columns: Collection[str]) -> int:
    """Bytes that pages of these columns take at one time, by what they tell: one page of each column. It reads their headers alone.

    Args:
        handle: the file, with `seek` and `read`.
        metadata: as pyarrow's `ParquetFile` has it.
        columns: those that are to be read.
    """
    largest: dict[str, int] = {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            part = group.column(place)
            # A part without values has no page, and its offsets mean nothing.
            if part.num_values and is_wanted(part, columns):
                name = part.path_in_schema
                largest[name] = max(largest.get(name, 0), _largest_page(handle, part))
    return sum(largest.values())


def _largest_page(handle: Any, part: Any) -> int:
    here = part.data_page_offset
    # Some writers tell a dictionary at 0 where there is none.
    if part.has_dictionary_page and 0 < part.dictionary_page_offset < here:
        here = part.dictionary_page_offset
    largest, end = 0, here + part.total_compressed_size
    while here < end:
        handle.seek(here)
        header = _Header(handle.read(min(_LONGEST, end - here)))
        sizes = header.sizes()
        unpacked, packed = (sizes.get(field, -1) for field in (_UNPACKED, _PACKED))
        if unpacked < 0 or packed < 0:
            raise ValueError(f"it is damaged: its page at byte {here} tells no size")
        largest = max(largest, unpacked)
        here += header.place + packed
    return largest


class _Header:
    """The struct at the beginning of some bytes."""

    def __init__(self, code: bytes) -> None:
        self.code, self.place = code, 0

    def sizes(self) -> dict[int, int]:
        """The numbers of 32 bits among its own fields: those alone pyarrow takes for sizes."""
        return self._struct(0)

    def _struct(self, depth: int) -> dict[int, int]:
        found: dict[int, int] = {}
        field = 0
        while kind := self._byte():
            field = field + (kind >> 4) if kind >> 4 else _signed(self._number())
            value = self._value(kind & 15, depth + 1)
            if value is not None and kind & 15 == _I32:
                if field in found:
                    raise ValueError("it is damaged: the header of a page has a field twice")
                found[field] = value
        return found

    def _value(self, kind: int, depth: int) -> int | None:
        """A whole number; None for anything else, which is skipped."""
        if depth > _DEEPEST:
            raise ValueError("it is damaged: the header of a page is too deep")
        if kind in _WHOLE:
            return _signed(self._number())
        if kind == _STRUCT:
            self._struct(depth)
        elif kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._number()
            for _ in range(count):
                self._item(head & 15, depth + 1)
        elif kind == _MAP:
            count = self._number()
            kinds = self._byte() if count else 0
            for _ in range(count):
                self._item(kinds >> 4, depth + 1)
                self._item(kinds & 15, depth + 1)
        elif kind in (_BYTE, _DOUBLE, _TEXT):
            self._skip({_BYTE: 1, _DOUBLE: 8}.get(kind) or self._number())
        elif kind not in _FLAGS:
            raise ValueError(f"it is damaged: the header of a page has a field of the unknown kind {kind}")
        return None

    def _item(self, kind: int, depth: int) -> None:
        # In a list a flag is a byte; as a field it has none.
        self._value(_BYTE if kind in _FLAGS else kind, depth)

    def _number(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("it is damaged: the header of a page has a number without end")

    def _byte(self) -> int:
        self._skip(1)
        return self.code[self.place - 1]

    def _skip(self, count: int) -> None:
        self.place += count
        if self.place > len(self.code):
            raise ValueError("it is damaged: the header of a page has no end")


def _signed(number: int) -> int:
    """Signs are in the last bit: 0, -1, 1, -2 are 0, 1, 2, 3."""
    return (number >> 1) ^ -(number & 1)
