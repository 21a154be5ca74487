"""docs/operators.md says what the program can do."""
import pathlib

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operators.md"


def test_the_table_is_that_of_the_program(arbalest):
    assert arbalest("operators") == DOCS.read_text(), "run: arbalest operators > docs/operators.md"
