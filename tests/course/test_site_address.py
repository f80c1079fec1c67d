"""The README and lesson 00 lead to the site by one address, which is said in
pyproject.toml.
"""

import re
import shutil

import pytest

from minikafka.course.contents import contents
from minikafka.course.publishing import site_address, site_claims
from minikafka.course.publishing.site import READINGS, linked


def test_both_link_to_the_address_that_is_configured():
    for name, link in site_address.links(site_address.address()).items():
        assert (site_address.PROJECT / name).read_text(encoding="utf-8").count(
            link
        ) == 1, name


@pytest.mark.parametrize(
    "base", ["https://example.org/kafka/", "https://example.org/kafka", "public/site/"]
)
def test_one_command_moves_all_and_there_and_back_changes_nothing(tmp_path, base):
    files = list(site_address.links(""))
    (tmp_path / "notebooks").mkdir()
    for name in files:
        shutil.copy(site_address.PROJECT / name, tmp_path / name)
    before = {name: (tmp_path / name).read_bytes() for name in files}
    site_address.move(base, tmp_path)
    assert site_address.address(tmp_path) == base.rstrip("/") + "/"
    changed = {name for name in files if (tmp_path / name).read_bytes() != before[name]}
    assert changed == (set(files) if "://" in base else {"pyproject.toml"})
    site_address.move(site_address.address(), tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in files} == before


def test_a_page_of_the_site_leads_to_its_own_front_page():
    link = site_address.links(site_address.address())["notebooks/00_start_here.ipynb"]
    assert linked(f"Or {link}.") == "Or [the course in a tab](../index.html)."


def test_nothing_links_to_a_folder_that_may_not_be_built_yet():
    for name in ("README.md", "notebooks/00_start_here.ipynb"):
        text = (site_address.PROJECT / name).read_text(encoding="utf-8")
        assert "](build/" not in text and "](../build/" not in text, name


def test_a_lesson_of_the_site_leads_to_the_pages_that_the_lesson_links_to():
    markdown = "".join(lesson.prose for lesson in contents().values())
    named = set(re.findall(r"\]\(\.\./notebooks/(\w+)\.md\)", markdown))
    of_its_own = site_claims.PATH.removesuffix(".html")
    assert named == {*READINGS, of_its_own}
    for name in named:
        link = f"[read]({{}}/{name}.{{}})"
        assert linked(link.format("../notebooks", "md")) == link.format("..", "html")
