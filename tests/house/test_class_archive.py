"""What lets the JVMs of the tests begin sooner."""

import subprocess

import pytest

from tests.kafka import SMALL_JVM, class_archive, compiled, java_command, java_tool

pytestmark = pytest.mark.java


def test_the_archive_fits_this_jvm_and_these_jars():
    """With -Xshare:on a JVM ends that can't use it; the others would say nothing, and
    start as slowly as without.
    """
    archive = class_archive()
    if archive is None or not archive.exists():
        pytest.skip("`make test` makes the archive before it starts the tests")
    assert f"-XX:SharedArchiveFile={archive}" in SMALL_JVM
    done = java_tool(
        "kafka.tools.StorageTool", "random-uuid", jvm=(*SMALL_JVM, "-Xshare:on")
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()[-1]) == 22


def test_a_java_program_of_the_tests_is_compiled_once_and_runs(tmp_path):
    source = tmp_path / "Says.java"
    source.write_text(
        "public class Says {\n  public static void main(String[] words) {\n"
        '    System.out.println("said " + words[0]);\n  }\n}\n'
    )
    command = java_command(str(source), "this")
    source.unlink()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "said this\n", done.stderr


def test_one_that_is_no_java_is_said(tmp_path):
    source = tmp_path / "Says.java"
    source.write_text("public class Says { int one = two; }\n")
    with pytest.raises(RuntimeError, match="cannot find symbol"):
        compiled(source)
