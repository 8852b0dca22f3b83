"""The public data sets that the package reads, by name."""

from crest.lab.systems.cwru.files import CWRU
from crest.lab.systems.public_files import DataFile, DataSet, listed_files

# What each is, its licence and what to cite: the data README.
MITBIH = DataSet(
    name="mitbih",
    title="MIT-BIH Arrhythmia Database 1.0.0 (PhysioNet)",
    what="44 half-hour electrocardiograms, two leads, 360 Hz, every beat annotated by experts",
    licence="Open Data Commons Attribution Licence 1.0",
    cite="Moody and Mark, IEEE Eng. Med. Biol. 20(3), 2001; and Goldberger et al., Circulation 101(23), 2000",
    addresses=("https://physionet.org/files/mitdb/1.0.0/",),
    files=listed_files("mitbih"),
)
"""44 of the 48 records, without the four of paced hearts: signals, headers and annotations."""

HITSM = DataSet(
    name="hitsm",
    title="HIT-SM bearings, SpectraQuest rig",
    what="18 vibration recordings of inner- and outer-race bearing faults, 51.2 kHz, three sizes at three speeds",
    licence='no licence file; "publicly available and can be used by anyone for the task of classifying the fault status '
    'of rolling bearings"',
    cite="github.com/hitwzc/Bearing-datasets, SpectraQuest MFS dataset",
    addresses=(
        "https://raw.githubusercontent.com/hitwzc/Bearing-datasets/HEAD/SpectraQuest%20MFS%20dataset/",
    ),
    files=listed_files("hitsm"),
    noun="recordings",
)
"""The eighteen recordings with a fault; a name has the race, the size in degrees and the speed in rpm."""

SISFALL = DataSet(
    name="sisfall",
    title="SisFall",
    what="3,138 falls and daily activities of 23 adults, accelerometer at the waist",
    licence="none stated with the data",
    cite="Sucerquia, Lopez and Vargas-Bonilla, Sensors 17(1):198, 2017",
    addresses=(),
    files=(DataFile("trials.npz"),),
    by_hand="build trials.npz, because no address serves it. Download SisFall_dataset.zip from the page of its authors "
    "(Sucerquia, Lopez and Vargas-Bonilla, Sensors 17(1):198, 2017), unpack it, and call "
    "`crest.lab.systems.sisfall.build_trials(source, folder)` in Python with two paths: the unpacked folder, and the folder "
    "of sisfall that `crest data list` shows. Or run `crest data fetch sisfall --from-dir FOLDER` if you have trials.npz",
)
"""Trials made from the original text files. Two archives of the same numbers may differ in bytes, so none are compared."""

DATA_SETS: dict[str, DataSet] = {data.name: data for data in (CWRU, HITSM, MITBIH, SISFALL)}
"""Every data set that `crest data` knows."""
