"""The pages that a server has over HTTP, asked by somebody who means no good."""

import asyncio
import socket
from contextlib import suppress

import pytest

from minikafka.server import http
from minikafka.server.http import Answer, Page
from minikafka.server.serve import serve_until_stopped

FEW_BYTES = 4096  # that a socket's buffers hold
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def with_page(answer, scenario, most_at_once=8):
    """Run scenario(listener's address) beside a page; what asyncio told as errors."""
    told = []

    async def run():
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: told.append(context["message"])
        )
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, FEW_BYTES)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            page = asyncio.create_task(Page(answer, most_at_once).serve(listener))
            await asyncio.wait_for(scenario(listener.getsockname()), 60)
            page.cancel()
            with suppress(asyncio.CancelledError):
                await page

    asyncio.run(run())
    return told


async def hello(asked):
    return Answer("200 OK", "hello")


async def answer_to(address, request):
    reader, writer = await asyncio.open_connection(*address)
    answer = b""
    with suppress(ConnectionResetError):  # it is turned away
        writer.write(request)
        answer = await reader.read()
    writer.close()
    return answer


def test_a_reader_that_stands_still_is_cut_off_however_little_is_left(monkeypatch):
    monkeypatch.setattr(http, "PATIENCE_SECONDS", 0.2)
    size = 10 * FEW_BYTES  # asyncio takes it all, and the socket doesn't

    async def large(asked):
        return Answer("200 OK", "x" * size)

    async def scenario(address):
        loop = asyncio.get_running_loop()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, FEW_BYTES)
            client.setblocking(False)
            await loop.sock_connect(client, address)
            await loop.sock_sendall(client, WHOLE)
            # a page that has given up on this reader takes the next one
            while not await answer_to(address, WHOLE):
                pass
            came = 0
            with suppress(ConnectionResetError):
                while part := await loop.sock_recv(client, FEW_BYTES):
                    came += len(part)
            assert came < size

    assert with_page(large, scenario, most_at_once=1) == []


@pytest.mark.parametrize(
    "line",
    [
        b"X: a\nTransfer-Encoding: chunked",
        b"X: a\nHost: evil",
        b"X: a\rContent-Length: 5",
        b"X: a\0b",
    ],
)
def test_a_head_that_could_mean_two_things_is_refused(line):
    async def scenario(address):
        request = WHOLE.replace(b"Host: x", b"Host: x\r\n" + line)
        assert b"400 Bad Request" in await answer_to(address, request)

    assert with_page(hello, scenario) == []


def test_a_bug_in_an_answer_is_one_line_and_no_traceback(capsys):
    async def fails(asked):
        raise LookupError("no such thing")

    async def scenario(address):
        assert b"500 Internal Server Error" in await answer_to(address, WHOLE)

    assert with_page(fails, scenario) == []
    [line] = capsys.readouterr().err.splitlines()
    assert "LookupError('no such thing')" in line


def test_a_page_that_fails_ends_with_its_error():
    async def fails():
        raise OSError("the port is gone")

    with pytest.raises(OSError, match="the port is gone"):
        serve_until_stopped(fails, lambda: None)


def test_a_page_ends_in_the_middle_of_a_request_without_a_word(capsys):
    async def scenario(address):
        _, writer = await asyncio.open_connection(*address)
        writer.write(b"GET /")
        assert b"hello" in await answer_to(address, WHOLE)

    assert with_page(hello, scenario) == []
    assert capsys.readouterr().err == ""
