"""All models answer all questions as they did when tests/golden.txt was recorded; see golden.py.

Where an answer is meant to change, record it anew and look at the difference. Before and after a
change that must not move a bit, compare hashes too, in one checkout with its compiled kernels::

    PYTHONPATH=. python tests/golden.py record tests/golden.txt [MODEL ...]
    PYTHONPATH=. python tests/golden.py compare tests/golden.txt
"""

from __future__ import annotations

import cases
import golden
import golden_questions
import numpy as np
import pytest

RECORDED_ON, LINES = golden.from_text(golden.FILE.read_text("utf-8"))


def test_the_file_has_all_models_and_no_others():
    assert {model for model, _ in LINES} == set(golden_questions.SUBJECTS)


def models():
    """Yield all models, those of rows that are not typical to be asked with -m slow only."""
    rows = {case.name: case for case in cases.CLASSIFIERS}
    for model in golden_questions.SUBJECTS:
        case = rows.get(model.partition("/")[0])
        spared = case and cases.is_spared("test_answers_are_those_recorded", case)
        yield pytest.param(model, marks=[pytest.mark.slow] if spared else [])


@pytest.mark.one_in(12)
@pytest.mark.parametrize("model", list(models()))
def test_answers_are_those_recorded(model):
    old = {key: outcomes for key, outcomes in LINES.items() if key[0] == model}
    # Bits are compared by the command only: the last one of a compiled kernel depends on whether
    # the functions that it calls came from the cache when it was compiled.
    assert not list(golden.differences(old, golden.recorded(model), exact=False))


def test_a_file_is_read_as_it_was_written():
    text = golden.FILE.read_text("utf-8")
    assert golden.as_text(LINES, RECORDED_ON) == text


def test_a_changed_bit_is_seen_where_bits_are_compared():
    numbers = np.array([0.1, 0.25, -3.0])
    moved = np.nextafter(numbers, 1.0)
    old, near, far = (
        {("model", "query"): {"half": golden.described(a)}}
        for a in (numbers, moved, numbers + 1e-6)
    )
    assert not list(golden.differences(old, near, exact=False))
    assert list(golden.differences(old, near, exact=True))
    assert len(list(golden.differences(old, far, exact=False))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(2), np.zeros((2, 1))),
        (np.array([1.0, 2.0]), np.array([2.0, 1.0])),
        (["a", 1], ["a", True]),
        (["a"], ["b"]),
        (np.array([1.0, np.inf]), np.array([1.0, np.nan])),
        ({"a": 1.0}, {"b": 1.0}),
    ],
    ids=str,
)
def test_other_answers_are_seen_with_a_tolerance(one, other):
    before, after = ({("model", "query"): {"half": golden.described(a)}} for a in (one, other))
    assert list(golden.differences(before, after, exact=False))


def test_refusals_and_warnings_are_compared():
    outcomes = [
        "!EvidenceError",
        "!ImpossibleEvidenceError",
        "f(1) 1 00",
        "f(1) 1 00 +Some",
        "Plan",
    ]
    for one in outcomes:
        for other in outcomes:
            before, after = {("m", "q"): {"half": one}}, {("m", "q"): {"half": other}}
            assert bool(list(golden.differences(before, after, exact=False))) == (one != other)
    assert list(golden.differences(before, {}, exact=False)) == [
        "m | q | half: was Plan, now nothing"
    ]
