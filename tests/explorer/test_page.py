"""The file: its parts, its policy, and what a hostile one meets."""

import re

from bayesgraph.explorer.bundle import FRONT, front


def test_modules_import_each_other_in_one_direction():
    script, _ = front()
    defined = set()
    for line in script.splitlines():
        if found := re.fullmatch(r"const (\w+_MODULE) = \(\(\) => \{", line):
            defined.add(found[1])
        elif found := re.fullmatch(r"(?:const \{)?.*\} = (\w+_MODULE);", line):
            assert found[1] in defined
    assert (
        len(defined) == sum(item.name.endswith(".js") for item in FRONT.iterdir()) - 1
    )  # loader.js
