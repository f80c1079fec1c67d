"""The editions of a lesson: nothing of a learner's is ever overwritten."""

import nbformat
import pytest

from minikafka.__main__ import main
from minikafka.course import editions, places
from minikafka.course.contents import contents


@pytest.fixture
def my(tmp_path, monkeypatch):
    monkeypatch.setattr(editions, "MY", tmp_path)
    monkeypatch.setattr(editions.write_edition, "__defaults__", (tmp_path,))
    return tmp_path


def cells(path):
    return [
        cell
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code"
    ]


def test_the_learners_copies_have_no_outputs_and_come_once(tmp_path):
    new = editions.make_copies(tmp_path)
    beside = [path.name for path in places.extras()]
    assert [path.name for path in new] == [
        *(path.name for path in editions.notebooks().values()),
        *beside,
    ]
    assert all(
        not cell.outputs and cell.execution_count is None
        for path in new
        for cell in cells(path)
    )
    new[0].write_text("mine", encoding="utf-8")
    assert editions.make_copies(tmp_path) == []
    assert new[0].read_text(encoding="utf-8") == "mine"


def test_a_copy_keeps_the_cells_and_their_ids(tmp_path):
    target, _ = editions.write_edition("02", "copy", tmp_path)
    original = cells(editions.notebooks()["02"])
    assert [(cell.id, cell.source) for cell in cells(target)] == [
        (cell.id, cell.source) for cell in original
    ]


def test_fresh_starts_over_and_keeps_the_old_copy(tmp_path):
    target, kept = editions.write_edition("02", "fresh", tmp_path)
    assert kept is None
    for number in (1, 2):
        target.write_text(f"mine {number}", encoding="utf-8")
        target, kept = editions.write_edition("02", "fresh", tmp_path)
        assert kept.read_text(encoding="utf-8") == f"mine {number}"
        assert cells(target)
    assert len(list(tmp_path.iterdir())) == 3


def test_the_solved_edition_has_no_stub_left(tmp_path):
    for number in editions.notebooks():
        target, _ = editions.write_edition(number, "solved", tmp_path)
        marked = [
            cell
            for cell in cells(target)
            if "exercise" in cell.metadata.get("minikafka", {})
        ]
        assert not any(
            line.split()[-1:] == ["..."]
            for cell in marked
            for line in cell.source.splitlines()
        )
        assert target.name.endswith("_solved.ipynb")


@pytest.mark.parametrize("number", ["02", "05"])
def test_the_blank_edition_keeps_the_set_up_the_comments_and_what_is_long(
    number, tmp_path
):
    target, _ = editions.write_edition(number, "blank", tmp_path)
    setup, *others = cells(target)
    assert "import" in setup.source
    lengths = []
    for cell in others:
        lines = cell.source.splitlines()
        lengths.append(len(lines))
        is_asked = any("= predict(" in line for line in lines)
        is_kept = is_asked or len(lines) > 12
        assert is_kept or all(line.startswith("#") for line in lines)
    assert min(lengths) == 0 and max(lengths) > 12


def test_the_command_says_where_the_copy_is_and_what_became_of_the_old_one(my, capsys):
    assert main(["lesson", "2"]) == 0
    assert capsys.readouterr().out.strip().endswith("02_partitions_and_keys.ipynb")
    assert main(["lesson", "02", "--fresh"]) == 0
    assert "Your old copy is" in capsys.readouterr().out


def test_a_blank_edition_asks_every_question(tmp_path):
    for number in ("05", "11", "16"):
        target, _ = editions.write_edition(number, "blank", tmp_path)
        asked = [cell for cell in cells(target) if "= predict(" in cell.source]
        assert len(asked) == len(contents()[number].predictions)


def test_who_shows_a_solved_edition_is_told_of_the_answered_ticket(my, capsys):
    assert main(["lesson", "05", "--solved"]) == 0
    assert "Its exit ticket is answered" in capsys.readouterr().out
    assert main(["lesson", "00", "--solved"]) == 0
    assert "ticket" not in capsys.readouterr().out


def test_an_unknown_lesson_is_named(my, capsys):
    assert main(["lesson", "77"]) == 2
    assert "there is no lesson 77" in capsys.readouterr().err
