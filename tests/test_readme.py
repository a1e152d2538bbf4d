"""The front page: few words, it prints what it shows, and each number has a source."""

import contextlib
import io
import re
from pathlib import Path

import compare_features
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
MEASURED = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
# Each number of the strip, and the row that prints it: its number, rounded, is the strip's.
MEAN = r"geometric mean, all posteriors, no evidence and 10 % evidence"
NUMBERS = {
    "52 times": MEAN + r" \| warm .* (\S+) \| py",
    "8 times": MEAN + r" \| cold .* (\S+) \| py",
    "85.7 %": r"`BayesianNetworkClassifier\(\)` \| 41 \| \**([\d.]+)",
    "84.7 %": r"random forest of 300 trees \| 41 \| ([\d.]+)",
    "0.36": r"`BayesianNetworkClassifier\(\)` \| \*\*[\d.]+\*\* \| \*\*(0[\d.]+)",
    "0.41": r"HistGradientBoosting, calibrated \| [\d.]+ \| ([\d.]+)",
    "0.57": r"random forest of 300 trees \| [\d.]+ \| ([\d.]+) \| [\d.]+ \| [\d.]+ \| 3",
    "441 MB": r"TAN, 20,000,000 rows, made on the way \| memory \| (\S+)",
}


def test_few_words_before_the_first_import():
    assert len(README[: README.index("import bayesgraph")].split()) <= 120


def test_the_first_lines_print_what_stands_below():
    code, shown = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", README, re.DOTALL).groups()
    assert len(code.strip().splitlines()) <= 8
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    left = printed.getvalue()
    for part in re.split(r"^ *\.\.\.\n", shown, flags=re.MULTILINE):
        assert part in left
        left = left.partition(part)[2]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_those_of_the_benchmarks(number):
    assert re.search(rf"\b{re.escape(number)}", README[: README.index("## Set-up")])
    measured = float(re.search(NUMBERS[number], MEASURED)[1])
    value = number.partition(" ")[0]
    digits = len(value.partition(".")[2])
    assert abs(measured - float(value)) <= 0.5 * 10**-digits + 1e-9


def test_the_strip_has_four_numbers_each_with_a_benchmark():
    rows = re.findall(r"^\| \*\*.*\[`(\w+\.py)`\]\(benchmarks/README", README, re.MULTILINE)
    assert len(rows) == 4
    assert all((ROOT / "benchmarks" / name).is_file() for name in rows)


def test_the_table_of_features_is_the_script_s():
    assert compare_features.table() in README
    assert re.search(r"As of \d{4}-\d\d-\d\d", README)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", compare_features.places())
def test_a_feature_is_where_the_table_says(place):
    found = compare_features.is_there(place)
    if found is None:
        pytest.skip("This library is not installed.")
    assert found


def test_a_place_that_is_not_there_is_told():
    assert compare_features.is_there("bayesgraph:nothing_of_this_name") is False
    assert compare_features.is_there("no_such_library_at_all:x") is None
