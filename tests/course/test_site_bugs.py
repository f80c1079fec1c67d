"""The page of bugs in clients tells what happens, and folds the very files that the
tests run and write.
"""

from minikafka.course.client_bugs import bugs
from minikafka.course.publishing import site, site_bugs


def test_the_page_shows_each_program_and_what_it_printed_with_both_versions():
    html = site.bugs_page()
    begins = [html.index(f'<section id="{bug.id}">') for bug in bugs()]
    assert begins == sorted(begins)
    for bug, begin in zip(bugs(), begins, strict=True):
        section = html[begin : html.index("</section>", begin)]
        finding, folded = section.split("<details>", 1)
        assert bug.title in finding and bug.since in finding and bug.until in finding
        assert site.escape(bug.code) in folded
        for version in (bug.old, bug.mended):
            assert f"With {version} it prints" in section
            assert site.escape(bug.printed(version)) in section
        assert f'href="#{bug.id}"' in html


def test_a_table_leads_to_each_bug_and_says_whose_it_is_and_where_it_ended():
    begins = site.bugs_page().partition("<section")[0]
    for bug in bugs():
        row = begins.partition(f'<a href="#{bug.id}">')[2].partition("</tr>")[0]
        assert row.startswith(bug.title) and bug.client in row and bug.until in row


def test_every_bug_was_told_in_public_and_the_front_page_leads_to_them():
    for bug in bugs():
        assert bug.reports, bug.id
        assert all(report.url.startswith("https://") for report in bug.reports)
    assert f'href="{site_bugs.PATH}"' in site.front()
