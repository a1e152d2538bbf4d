"""The ways through the library call few functions; each limit is what was reached."""

import pytest
from journeys import calls, journeys

# Maximum numbers of calls and of files, and columns; a commit may lower them.
LIMITS = {
    "TAN fit": (1_060, 49, 6),
    "one row": (215, 32, 6),
    "load": (1_422, 22, 6),
    "query": (37, 13, 6),
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
