"""The page's HTTP server answers its own page, and nobody else."""

import http.client

import pytest

from minikafka.watching.server import PageServer
from tests.watching.answering import answering


@pytest.fixture
def server():
    def news(width, last):
        return {"width": width, "last": last}

    one = PageServer(0, lambda: ("<p>hello", "default-src 'none'"), news)
    with answering(one):
        yield one


def ask(server, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    host = host or f"127.0.0.1:{server.port}"
    connection.request(method, path, headers={"Host": host, "Origin": "http://evil"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_it_listens_on_the_loopback_interface_only(server):
    assert server.listener.getsockname()[0] == "127.0.0.1"


def test_the_page_comes_with_its_policy_and_for_no_other_origin(server):
    answer, text = ask(server, "/")
    assert (answer.status, text) == (200, "<p>hello")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert not [each for each in answer.headers if each.startswith("Access-Control")]


def test_news_are_told_for_a_width(server):
    answer, text = ask(server, "/now?width=390&last=7")
    assert answer.headers["Content-Type"].startswith("application/json")
    assert text == '{"width": 390, "last": 7}'


@pytest.mark.parametrize("query", ["", "?width=wide&last=1", "?last=1"])
def test_a_question_that_makes_no_sense_is_refused(server, query):
    answer, _ = ask(server, f"/now{query}")
    assert answer.status == 400


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1:1"])
def test_who_comes_by_another_name_is_refused(server, host):
    answer, text = ask(server, "/now?width=390&last=0", host)
    assert (answer.status, text) == (403, "not by this name\n")


def test_there_is_nothing_else(server):
    assert ask(server, "/etc/passwd")[0].status == 404
    assert ask(server, "/", method="POST")[0].status == 405
