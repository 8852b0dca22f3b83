"""What it takes to start: `import crest` and `crest --help` against `import torch`, each in a new process.

Seconds of the processor, not of the clock, by turns, so that a busy machine hits all of them.
`python benchmarks/imports.py [--rounds N] [--quick]`.
"""

import argparse
import resource
import statistics
import subprocess
import sys

COMMANDS = {
    "import torch": ["-c", "import torch"],
    "import crest": ["-c", "import crest"],
    "import crest, all names": ["-c", "import crest; [getattr(crest, name) for name in crest.__all__]"],
    "crest --help": ["-m", "crest", "--help"],
}


def seconds(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    options = parser.parse_args()
    rounds = [
        {name: seconds(arguments) for name, arguments in COMMANDS.items()}
        for _ in range(1 if options.quick else options.rounds)
    ]
    medians = {name: statistics.median(one[name] for one in rounds) for name in COMMANDS}
    for name, median in medians.items():
        print(f"{name:<24} {median:6.2f} s   {median / medians['import torch']:5.2f} x")
