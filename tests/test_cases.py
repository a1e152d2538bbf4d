"""The table of cases.py: what its exceptions name exists, and each row runs somewhere."""

import re
from pathlib import Path

import cases
from sklearn.utils import estimator_checks

TESTS = Path(cases.__file__).parent


def functions_given_a_row():
    """Return the names of all test functions that are given a row of the table."""
    return {
        name
        for path in TESTS.rglob("test_*.py")
        for name, given in re.findall(r"def (test_\w+)\(([^)]*)\)", path.read_text("utf-8"))
        if re.search(r"\bcase\b", given)
    }


def test_exceptions_and_plumbing_name_tests_of_rows_or_checks_of_scikit_learn():
    # A name that is no test's, after a renaming say, would change what runs without a word.
    known = functions_given_a_row() | {
        name for name in vars(estimator_checks) if name.startswith("check_")
    }
    unknown = {
        f"{case}: {name}"
        for case in cases.CLASSIFIERS
        for name in case.without
        if name not in known
    }
    spared = cases.PLUMBING | cases.ON_ALL_ROWS | set(cases.MILDER)
    unknown |= {f"spared: {name}" for name in spared - functions_given_a_row()}
    assert not unknown


def test_every_exception_has_a_reason():
    assert all(reason for case in cases.CLASSIFIERS for reason in case.without.values())


def test_rows_have_names_of_their_own():
    names = [case.name for case in cases.CLASSIFIERS]
    assert len(set(names)) == len(names)


def test_typical_rows_are_in_the_table():
    assert {case.name for case in cases.CLASSIFIERS} >= cases.TYPICAL


def test_each_row_runs_by_default_and_the_first_of_a_class_with_all_its_data():
    oracle = "test_probabilities_equal_brute_force"
    for case in cases.CLASSIFIERS:
        run = [kind for kind in case.kinds if not cases.is_spared(oracle, case, kind)]
        assert run
        if cases.FIRST_OF_CLASS[cases.class_of(case)] is case:
            assert run == list(case.kinds)
            assert not any(cases.is_spared(test, case) for test in cases.PLUMBING)
