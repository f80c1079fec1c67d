"""The doctor names what is missing and the exact fix, and lets you go on when only Spark's lessons lack something."""

import socket
import webbrowser

from minikafka.__main__ import main
from minikafka.course import doctor
from minikafka.course.doctor import Fact, Report


def test_this_machine_can_run_the_lessons_without_spark(capsys):
    assert main(["doctor"]) == 0
    assert "ok       Python: 3." in capsys.readouterr().out


def test_a_fact_that_is_not_good_comes_with_its_fix():
    for fact in doctor.examine():
        assert ("->" in str(fact)) == (not fact.good)
        assert fact.good or fact.fix.splitlines()[0] in str(fact)


def test_no_java_is_said_and_stops_nobody(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (java,) = doctor._java()
    assert not java.good and not java.needed
    assert "conda install -c conda-forge openjdk=17" in java.fix


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    installed = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: "" if name == "greenlet" else installed(name))
    core, _ = doctor._packages()
    assert not core.good and core.needed
    assert core.fix.endswith("-m pip install greenlet")
    assert Report([core]).ready is False


def test_a_taken_port_is_a_note_only(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(doctor, "PORT", taken.getsockname()[1])
        (port,) = doctor._port()
    assert not port.good and not port.needed
    assert "minikafka serve --port 0" in port.fix


def test_no_browser_is_a_note_only(monkeypatch):
    def none():
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    (browser,) = doctor._browser()
    assert not browser.good and not browser.needed


def test_the_last_line_says_what_can_run():
    good, note, bad = Fact("a", "b"), Fact("a", "b", False, needed=False, fix="x"), Fact("a", "b", False, fix="x")
    assert str(Report([good])).endswith("All lessons can run here.")
    assert "The lessons without Spark can run here." in str(Report([good, note]))
    assert str(Report([note, bad])).endswith("then ask the doctor again.")
