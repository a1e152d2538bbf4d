"""Tables as text and HTML."""

import pytest

import bayesgraph as bg
from bayesgraph.core.display import Displayed, DisplayTable, printable, rounded


class Shown(Displayed):
    def _display(self):
        return DisplayTable(
            "P(x)", [["no", "0.8"], ["maybe", "0.15"]], ["state", "p"], [1.0, -0.5], "1 more"
        )


def test_text_is_aligned():
    assert repr(Shown()).splitlines() == [
        "P(x)",
        "  state     p",
        f"  no      0.8  {'█' * 24}",
        f"  maybe  0.15  {'▒' * 12}",
        "  1 more",
    ]


def test_bars_end_at_the_edge_of_a_terminal():
    lines = DisplayTable("", [["a" * 60, "1"]], bars=[1.0]).text().splitlines()
    assert len(lines[1]) == 80
    assert "█" not in DisplayTable("", [["a" * 90, "1"]], bars=[1.0]).text()


def test_html_is_escaped():
    page = DisplayTable("a < b", [["<script>", "1"]], note="&").html()
    assert "<script>" not in page
    assert ">a &lt; b</caption>" in page
    assert "<div>&amp;</div>" in page


def test_lists_of_results_are_one_table_in_notebooks():
    names = [bg.Discrete(name, ["no", "yes"]) for name in ("rain", "<wet>")]
    net = bg.BayesianNetwork([bg.TableCPD(variable, [0.9, 0.1]) for variable in names])
    best = net.k_most_probable(3)
    table = best._repr_html_()
    assert table.count("<tr>") == 4
    assert table.count("&lt;wet&gt;") == 1
    assert best == list(best)
    assert "... 3 more rows" in type(best)(best * 21)._repr_html_()
    assert type(best)()._repr_html_().startswith("<table>")


def test_a_caption_is_as_wide_as_its_lines():
    assert "white-space:nowrap'>two<br>lines</caption>" in DisplayTable("two\nlines").html()


def test_a_title_alone():
    assert DisplayTable("nothing to show").text() == "nothing to show"


def test_control_characters_are_escaped():
    table = DisplayTable("a\x1b[2J\nb", [["\x07\n", "\ud800"]], ["\x00", "p"], note="\x9b")
    assert table.text().splitlines()[:2] == ["a\\x1b[2J", "b"]
    for text in (table.text(), table.html()):
        assert {"\\x07\\n", "\\ud800", "\\x00", "\\x9b"} <= set(
            text.replace("<", " ").replace(">", " ").split()
        )
        assert not any(ord(char) < 32 and char != "\n" for char in text)


def test_sentences_that_do_not_fit_have_lines_of_their_own():
    said = "as it was said in a sentence of some length"
    rows = [["a", "1", said], ["b" * 40, "2", ""]]
    lines = DisplayTable("", rows, ["name", "n", "where"]).text().splitlines()
    assert lines[1:] == [
        f"  {'name'.ljust(40)}  n",
        "    where",
        f"  {'a'.ljust(40)}  1",
        f"    {said}",
        f"  {'b' * 40}  2",
    ]
    fitting = DisplayTable("", [["a", "1", said]]).text().splitlines()
    assert fitting[1] == f"  a  1  {said}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (7, "7"),
        (-0.123456, "-0.1235"),
        (1234.5678, "1235"),
        (9999.6, "10000"),
        (12000.0, "12000"),
        (-12345.678, "-12346"),
        (999_999_999_999.0, "999999999999"),
        (1e12, "1e+12"),
        (0.00001234, "1.234e-05"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_have_no_exponent_that_nobody_needs(value, text):
    assert rounded(value) == text


def test_signs_digits_and_thousands():
    assert rounded(1234567.8, 6) == "1234568"
    assert rounded(0.5, signed=True) == "+0.5"
    assert rounded(-123456.0, signed=True) == "-123456"
    assert rounded(1234567.8, grouped=True) == "1,234,568"
    assert rounded(1234.5, 6, grouped=True) == "1,234.5"


@pytest.mark.parametrize("code", [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200F, 0xAD, 7])
def test_marks_that_turn_the_direction_are_escaped(code):
    shown = printable(f"a{chr(code)}b")
    assert shown.isascii()
    assert shown.isprintable()
    assert shown.encode().decode("unicode_escape") == f"a{chr(code)}b"


@pytest.mark.parametrize("text", ["שלום", "می\u200cخواهم", "👩\u200d🔬", "naïve", "日本"])
def test_words_of_other_scripts_are_not(text):
    assert printable(text) == text
