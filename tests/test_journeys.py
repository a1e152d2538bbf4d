"""The ways through the library call few functions; each limit is what was reached."""

import pytest
from journeys import calls, journeys

# Maximum numbers of calls and of files, and columns; a commit may lower them.
# The fits had 1,673 and 3,628 calls at 9b8a560, in 56 and 52 files: 55 % are 920 and 1,995.
LIMITS = {
    "TAN fit": (757, 29, 6),
    "TAN fit of heart": (1_785, 30, 14),
    "one row": (192, 27, 6),
    "load": (1_280, 22, 6),
    "query": (34, 9, 6),
}


@pytest.fixture(scope="module")
def ways():
    return journeys()


@pytest.mark.parametrize("name", LIMITS)
def test_a_way_calls_few_functions_in_few_files(ways, name):
    most, files, columns = LIMITS[name]
    counted = calls(ways[name])
    assert counted.total <= most
    assert counted.files <= files
    # Variables are keys of dictionaries everywhere.
    assert counted.of_keys <= 2 * columns
