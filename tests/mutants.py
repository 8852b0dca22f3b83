"""Small changes of meaning in the rooms that people import, one at a time: do the tests see them? A program: `make mutants`.

Changes are made in copies of the tree. cosmic-ray makes most of them: another operator, another number, a condition turned round, a
loop that runs over nothing. It leaves calls as they are, so two kinds are added: a clamp, a mask or a copy is dropped, and an option
is not handed on. A place in the code is drawn first, and then one change of it: a sum has many changes and counts once.

A mutant is given to the tests of its module first, to those of its room if it survives them, and last to those of every public door.
It is caught if a test fails that passes without the change, or if the time runs out. The program has an environment of its own; tests
run in that of the project.
"""

import argparse
import ast
import concurrent.futures
import dataclasses
import functools
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "crest"
ROOMS = (
    "_audit", "_base", "_cues", "_repair", "background", "estimators", "examples", "exchange", "nuisances", "probes", "readouts", "recordings", "remedies",
    "strangers", "theory",
)  # fmt: skip
# Seconds for the tests of a module, and of a room: several times what the slowest needs.
LIMITS = 120, 600
DOORS = "tests/contracts/test_public_doors.py"
NUMBERS = "tests/contracts/test_numbers.py"
ARITHMETIC = {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"}
DROPPED = {"clamp", "clone", "copy", "deepcopy", "detach", "masked_fill"}
# Survivors of the sample that `make mutants` takes, which change nothing that a user could see: (module, line as it is without blanks
# around it, line of the mutant) and the reason.
EXPLAINED: dict[tuple[str, str, str], str] = {
    (
        "remedies/fitting.py",
        "return pieces[0], REMEDIES[pieces[0]]",
        "return pieces[ -1], REMEDIES[pieces[0]]",
    ): "of one piece the first is the last",
    (
        "_audit/watch.py",
        "self._given = gathered(batches, self._settings.trajectories, keys, channels_first=channels_first)",
        "self._given = gathered(batches, self._settings.trajectories, keys)",
    ): "the axes are settled behind it, and lengths are read again then",
    (
        "readouts/fast/kernels/lanes.py",
        'f"llvm.fabs.v{LANES}f{context.get_abi_sizeof(arguments[0].type.element) * 8}",',
        'f"llvm.fabs.v{LANES}f{context.get_abi_sizeof(arguments[0].type.element) * 9}",',
    ): "LLVM makes the rest of an intrinsic's name from its types",
    (
        "strangers/pooling.py",
        "vector = calls[0].output.reshape(len(calls[0].output), -1)",
        "vector = calls[ -1].output.reshape(len(calls[0].output), -1)",
    ): "of one call the first is the last",
    (
        "probes/traces.py",
        "kept = torch.where(valid.unsqueeze(-1), features.detach(), 0)",
        "kept = torch.where(valid.unsqueeze(-1), features.detach(), 1)",
    ): "padding has no share, whatever number stands there",
    (
        "_cues/readers.py",
        "width = torch.tensor(_WIDTHS, dtype=torch.float64).repeat(-(-_WAVES // len(_WIDTHS)))[:_WAVES]",
        "width = torch.tensor(_WIDTHS, dtype=torch.float64).repeat(-(-_WAVES + len(_WIDTHS)))[:_WAVES]",
    ): "more repetitions than are taken",
    (
        "background/periodic.py",
        "progress = 1 - _loss(trial, before) / _loss(before, before).clamp(min=_TINY)",
        "progress = 1 - _loss(trial, before) / _loss(before, before)",
    ): "a fit without loss cannot get better: NaN ends the rounds, as no progress does",
    (
        "readouts/fast/kernels/ranking.py",
        "4 if T < _SAMPLE else T // 64,",
        "4 if T < _SAMPLE else T // 63,",
    ): "how many steps are left for the last count decides the time alone",
    (
        "remedies/standardise.py",
        "@door",
        "class Standardise(nn.Module):",
    ): "its own rules refuse the same arguments by the same names",
    (
        "strangers/batch.py",
        'whole = isinstance(sampler, SequentialSampler) and not getattr(batches, "drop_last", False)',
        'whole = isinstance(sampler, SequentialSampler) and not getattr(batches, "drop_last", True)',
    ): "whatever has a batch sampler of torch's says whether it drops the last",
    (
        "recordings/trajectories.py",
        "@dataclasses.dataclass(frozen=True, kw_only=True)",
        "@dataclasses.dataclass(frozen=True, kw_only=False)",
    ): "whoever makes one names its fields",
    (
        "probes/foreign.py",
        "return found[0] if len(found) == 1 else dict(zip(names, found, strict=True))",
        "return found[0] if len(found) == 1 else dict(zip(names, found, strict=False))",
    ): "a session has as many results as names of them",
    (
        "recordings/table.py",
        "Row(n, dict(zip(columns, cells, strict=True))) for n, cells in enumerate(zip(*texts, strict=True), 1)",
        "Row(n, dict(zip(columns, cells, strict=True))) for n, cells in enumerate(zip(*texts, strict=False), 1)",
    ): "the columns of a Parquet file are of one length",
}

Position = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change: where it is, what stood there and what stands there now."""

    module: str
    line: int
    before: str
    after: str
    code: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.before, self.after

    @property
    def room(self) -> str:
        return Path(self.module).parts[0]


@dataclasses.dataclass(frozen=True)
class Change:
    """What can be made at a place: an operator of cosmic-ray with its number, or a stretch of bytes that is left out."""

    module: str
    place: Position
    operator: str = ""
    occurrence: int = 0
    left_out: tuple[int, int] | None = None

    def made(self) -> Mutant | None:
        """The mutant; None if nothing is changed or Python cannot read it."""
        code = (SOURCE / self.module).read_text()
        if self.left_out is None:
            try:
                mutated = mutate_code(code, operators()[self.operator], self.occurrence)
            except AttributeError:
                # cosmic-ray has no exception to put in the place of one with a dotted name.
                if "exception" not in self.operator.lower():
                    raise
                return None
        else:
            whole, (first, last) = code.encode(), self.left_out
            mutated = (whole[:first] + whole[last:]).decode()
        # `not not` is what `not` left out is.
        if mutated is None or mutated == code or not readable(mutated) or _doubled(mutated) > _doubled(code):
            return None
        before, after = ([line for line in text.splitlines() if line.strip()] for text in (code, mutated))
        line = next(k for k, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1])
        # The star of a signature is no product.
        if before[line].replace("*,", "/,") == after[line]:
            return None
        return Mutant(self.module, self.place[0], before[line].strip(), after[line].strip(), mutated)


def _doubled(code: str) -> int:
    return code.count("not not ")


def readable(code: str) -> bool:
    """Whether Python can read it."""
    try:
        compile(code, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def tests_of(module: str) -> Path:
    """Where the tests of a module are, as a path in the tree."""
    path = Path(module)
    return Path("tests") / path.parent / f"test_{path.name}"


def untouchable(tree: ast.Module) -> Iterator[tuple[Position, Position]]:
    """Beginning and end of what no test can see, or every test: annotations, what only type checkers import, and joined types,
    such as `dict | set` in `isinstance`, for which every other operator is an error at once."""
    for node in ast.walk(tree):
        parts: list[ast.expr | ast.stmt | None] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [
                node.returns,
                *(one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg)),
            ]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            parts = [*node.args[1:]]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            parts = [node]
        for one in parts:
            if one is not None:
                yield (one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0)


def sensible(operator: str) -> bool:
    """Whether a change is one of meaning: numbers that are shifted by bits, and objects that are ordered, are errors at once."""
    kind, _, words = operator.removeprefix("core/").partition("_")
    if kind == "ReplaceBinaryOperator":
        one, _, other = words.partition("_")
        return (one in ARITHMETIC) == (other in ARITHMETIC)
    if kind == "ReplaceComparisonOperator":
        # `is` where numbers are compared depends on how Python keeps them.
        one, _, other = words.partition("_")
        return one.startswith("Is") == other.startswith("Is")
    if kind == "ReplaceUnaryOperator":
        # A sign of a flag, or `not` of a tensor, is an error at once.
        return words.startswith("Delete") or words in ("USub_UAdd", "UAdd_USub")
    return kind not in ("NoOp", "VariableInserter", "VariableReplacer")


@functools.cache
def operators() -> dict[str, Any]:
    """The operators of cosmic-ray that are taken, by their names."""
    return {name: get_operator(name)() for name in operator_names() if sensible(name)}


def changes(module: str) -> Iterator[Change]:
    """Every change of a module."""
    nodes = list(ast_nodes(get_ast_from_path(SOURCE / module)))
    spans = list(untouchable(ast.parse((SOURCE / module).read_text())))
    found = [*left_out(module)]
    for name, operator in operators().items():
        places = (first for node in nodes for first, _ in operator.mutation_positions(node))
        found += [Change(module, place, name, number) for number, place in enumerate(places)]
    for one in found:
        if not any(first <= one.place < last for first, last in spans):
            yield one


def left_out(module: str) -> Iterator[Change]:
    """Calls of clamps, masks and copies that are dropped, and options that are not handed on."""
    code = (SOURCE / module).read_text()
    starts = [0]
    for line in code.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def begins(node: ast.expr | ast.keyword) -> int:
        return starts[node.lineno - 1] + node.col_offset

    def ends(node: ast.expr | ast.keyword) -> int:
        return starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)

    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in DROPPED:
            name = ends(node.func) - len(node.func.attr) - 1
            place = (node.func.end_lineno or 1, node.func.end_col_offset or 0)
            if ast.unparse(node.func.value) == "copy":
                # copy.deepcopy(model): what is left is (model).
                yield Change(module, place, left_out=(begins(node), ends(node.func)))
            else:
                yield Change(module, place, left_out=(name, ends(node)))
        arguments = sorted([*node.args, *node.keywords], key=begins)
        for number, one in enumerate(arguments):
            handed_on = isinstance(one, ast.keyword) and any(isinstance(x, ast.Name) for x in ast.walk(one))
            if handed_on:
                following = number + 1 < len(arguments)
                first = begins(one) if following or not number else ends(arguments[number - 1])
                last = begins(arguments[number + 1]) if following else ends(one)
                yield Change(module, (one.lineno, one.col_offset), left_out=(first, last))


def drawn(modules: list[str], sample: int, seed: int) -> Iterator[Mutant]:
    """So many mutants, at most one of each place. Modules are drawn by their size: to look for all places in all of them takes minutes."""
    numbers = random.Random(seed)
    sizes = [(SOURCE / module).stat().st_size for module in modules]
    places: dict[str, dict[Position, list[Change]]] = {}
    left = sample
    while left:
        (module,) = numbers.choices(modules, sizes)
        if module not in places:
            places[module] = {}
            for one in changes(module):
                places[module].setdefault(one.place, []).append(one)
        if places[module]:
            mutant = numbers.choice(places[module].pop(numbers.choice(sorted(places[module])))).made()
            if mutant is not None:
                left -= 1
                yield mutant


class Tree:
    """A copy of what the repository tracks, and a process that runs tests in it."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder = folder
        names = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
        )
        kept = [name for name in names.stdout.split("\0") if name and (ROOT / name).is_file()]
        # And what numba has compiled, which it would do anew for each copy.
        kept += [str(path.relative_to(ROOT)) for path in SOURCE.rglob("*.nb[ic]")]
        for name in kept:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
        changed = {"PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [str(python), str(ROOT / "tests" / "forks.py")], cwd=folder, env={**os.environ, **changed},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(
        self, tests: list[str], *options: str, checked: bool, limit: float
    ) -> tuple[int | None, list[str]]:
        """The exit code of pytest, None if the time ran out; and the names of what failed."""
        there = [one for one in tests if (self.folder / one.partition("::")[0]).exists()]
        question = {"arguments": [*options, *there], "checked": checked, "limit": limit}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(question), file=self.process.stdin, flush=True)
        found = json.loads(self.process.stdout.readline())
        return found["code"], found["failed"]

    def write(self, module: str, code: str, stamp: int) -> None:
        """A module, with a time stamp of its own: Python compares whole seconds before it takes compiled code from disk."""
        place = self.folder / "src" / "crest" / module
        place.write_text(code)
        os.utime(place, (stamp, stamp))
        if place.parent.name == "kernels":
            # What numba has compiled holds code of other files, whose stamps it does not look at.
            for path in place.parent.glob("__pycache__/*.nb[ic]"):
                path.unlink()

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Whether a mutant was caught; and by which tests in which of the two runs, so that they can be asked without it."""

    mutant: Mutant
    caught: bool
    by: tuple[str, ...] = ()
    checked: bool = True


def stages(module: str) -> Iterator[tuple[list[str], bool, int]]:
    """What is asked, in this order: tests, whether shapes are checked, seconds."""
    room, own = Path(module).parts[0], tests_of(module).as_posix()
    beside = [
        path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests" / room).rglob("test_*.py"))
    ]
    named = ".".join(("crest", *Path(module).with_suffix("").parts))
    # Those first that import the module.
    rest = sorted(
        (one for one in beside if one != own), key=lambda one: named not in (ROOT / one).read_text()
    )
    for tests, limit in (
        ([own, f"src/crest/{module}"], LIMITS[0]),
        ([*rest, f"src/crest/{room}"], LIMITS[1]),
    ):
        yield tests, True, limit
        yield [one for one in tests if one.startswith("tests") and unchecked(one)], False, limit
    yield [DOORS, NUMBERS], False, LIMITS[1]


@functools.cache
def unchecked(test: str) -> bool:
    """Whether a file has tests that run without shape checks."""
    return "unchecked" in (ROOT / test).read_text()


def tried(tree: Tree, mutant: Mutant, stamp: int) -> Outcome:
    """What the tests of the module and then of the room say."""
    original = (SOURCE / mutant.module).read_text()
    try:
        tree.write(mutant.module, mutant.code, stamp)
        for tests, checked, limit in stages(mutant.module):
            if not tests:
                continue
            code, failed = tree.ask(tests, "-x", checked=checked, limit=limit)
            # 5: no test of this run.
            if code not in (0, 5):
                return Outcome(mutant, True, tuple(failed) or tuple(tests), checked)
        return Outcome(mutant, False)
    finally:
        tree.write(mutant.module, original, stamp + 1)


def fail_anyway(tree: Tree, outcomes: list[Outcome]) -> set[str]:
    """Of the tests that caught a mutant, those that fail in the copy without any."""
    found: set[str] = set()
    for checked in (True, False):
        by = {one for outcome in outcomes if outcome.checked == checked for one in outcome.by}
        if by:
            # Tests first: what pytest imports for a doctest is another module than what they import later.
            in_order = sorted(by, key=lambda one: (one.startswith("src"), one))
            found.update(tree.ask(in_order, checked=checked, limit=2 * LIMITS[1])[1])
    return found


def report(outcomes: list[Outcome], enough: float, unexplained: int) -> int:
    """Print the rooms and what survives; 1 if a smaller share is caught, or if more survive without a reason.

    What is explained survives all the same: it is not counted as caught.
    """
    for room in ROOMS:
        caught = [outcome.caught for outcome in outcomes if outcome.mutant.room == room]
        if caught:
            print(f"{room:12} {sum(caught)} of {len(caught)}")
    total = sum(outcome.caught for outcome in outcomes)
    open_ones = [one.mutant for one in outcomes if not one.caught and one.mutant.key not in EXPLAINED]
    # What has a reason changes nothing that a test could see.
    share = total / max(total + len(open_ones), 1)
    explained = len(outcomes) - total - len(open_ones)
    print(
        f"caught {total} of {len(outcomes)}; {explained} survive with a reason, {len(open_ones)} without: {share:.0%} of those that "
        f"change something ({enough:.0%} are needed)"
    )
    for one in open_ones:
        print(f"  {one.module}:{one.line}: {one.before} -> {one.after}")
    return int(share < enough or len(open_ones) > unexplained)


def outdated() -> list[str]:
    """Reasons for mutants of lines that are no longer there."""
    return [
        f"{module}: {before}"
        for module, before, _ in EXPLAINED
        if before not in map(str.strip, (SOURCE / module).read_text().splitlines())
    ]


def main() -> int:
    """Draw, try and tell."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--python", type=Path, required=True, help="runs the tests")
    asked.add_argument("--sample", type=int, default=60, help="how many mutants")
    asked.add_argument("--seed", type=int, default=0, help="which")
    asked.add_argument("--enough", type=float, default=0.95, help="share that must be caught")
    asked.add_argument("--unexplained", type=int, default=0, help="how many may survive without a reason")
    asked.add_argument("--jobs", type=int, default=2)
    asked.add_argument("--rooms", nargs="+", default=ROOMS, choices=ROOMS, metavar="ROOM")
    given = asked.parse_args()
    if outdated():
        print("EXPLAINED has lines that are no longer there:", *outdated(), sep="\n  ")
        return 1
    modules = [
        path.relative_to(SOURCE).as_posix()
        for room in given.rooms
        for path in sorted((SOURCE / room).rglob("*.py"))
        if (ROOT / tests_of(path.relative_to(SOURCE).as_posix())).exists()
    ]
    mutants = list(drawn(modules, given.sample, given.seed))
    print(f"{len(mutants)} mutants of {len(modules)} modules, seed {given.seed}", flush=True)
    outcomes = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        trees: queue.Queue[Tree] = queue.Queue()
        for number in range(given.jobs):
            trees.put(Tree(Path(folder) / str(number), given.python.absolute()))

        def tried_in_a_tree(number: int) -> Outcome:
            tree = trees.get()
            try:
                return tried(tree, mutants[number], 2_000_000_000 + 2 * number)
            finally:
                trees.put(tree)

        for outcome in pool.map(tried_in_a_tree, range(len(mutants))):
            outcomes.append(outcome)
            mutant = outcome.mutant
            said = (
                f"caught by {outcome.by[0]}"
                if outcome.caught
                else EXPLAINED.get(mutant.key, "NO TEST SEES IT")
            )
            head = "caught" if outcome.caught else "survives"
            print(
                f"{head}: {mutant.module}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}\n  {said}",
                flush=True,
            )
        tree = trees.get()
        anyway = fail_anyway(tree, outcomes)
        for one in (tree, *(trees.get() for _ in range(given.jobs - 1))):
            one.close()
    if anyway:
        print("these tests fail without any change, too:", *sorted(anyway), sep="\n  ")
        return 1
    return report(outcomes, given.enough, given.unexplained)


if __name__ == "__main__":
    sys.exit(main())
