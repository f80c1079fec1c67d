"""The system's Firefox, spoken to by WebDriver BiDi (a W3C draft): Debian has no other
driver for it, and Playwright takes its own Firefox only.
"""

import json
import shutil
import subprocess
import tempfile
from contextlib import contextmanager

PATIENCE_S = 180
LISTENING = "WebDriver BiDi listening on "
END = "\ue010"  # the key, as WebDriver writes it


@contextmanager
def running_firefox():
    """A Page in a new Firefox, which is closed at the end."""
    import websocket

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--remote-debugging-port", "0", "--profile", profile]
        process = subprocess.Popen(
            [shutil.which("firefox-esr") or "firefox", *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            address = f"{_listening(process.stderr)}/session"
            socket = websocket.create_connection(
                address, timeout=PATIENCE_S, suppress_origin=True
            )
            yield Page(socket)
            socket.close()
        finally:
            process.terminate()
            process.communicate()


def _listening(lines):
    for line in lines:
        if line.startswith(LISTENING):
            return line.removeprefix(LISTENING).strip()
    raise AssertionError("Firefox doesn't listen")


class Page:
    """A tab. errors: what its console has said was wrong."""

    def __init__(self, socket):
        self.errors = []
        self._socket = socket
        self._number = 0
        self._command("session.new", capabilities={})
        self._command("session.subscribe", events=["log.entryAdded"])
        [tree] = self._command("browsingContext.getTree")["contexts"]
        self._context = tree["context"]

    def resize(self, width, height):
        size = {"width": width, "height": height}
        self._ours("browsingContext.setViewport", viewport=size)

    def goto(self, address):
        """Open a page, and wait until all of it is there."""
        self._ours("browsingContext.navigate", url=address, wait="complete")

    def evaluate(self, script):
        """What an expression in JavaScript gives, which JSON must be able to hold."""
        found = self._command(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({script}) ?? null))()",
            target={"context": self._context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])

    def press(self, key):
        """A key of the keyboard, for the element that has the focus."""
        strokes = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        keyboard = {"type": "key", "id": "keyboard", "actions": strokes}
        self._ours("input.performActions", actions=[keyboard])

    def wait_for(self, script):
        """Until an expression is true, which is looked at before each frame."""
        self.evaluate(
            "new Promise(done => { const look = () =>"
            f" ({script}) ? done() : requestAnimationFrame(look); look() }})"
        )

    def _ours(self, method, **params):
        return self._command(method, context=self._context, **params)

    def _command(self, method, **params):
        self._number += 1
        call = {"id": self._number, "method": method, "params": params}
        self._socket.send(json.dumps(call))
        while True:
            message = json.loads(self._socket.recv())
            if message["type"] == "event":
                if message["params"]["level"] == "error":
                    self.errors.append(message["params"]["text"])
            elif message["id"] == self._number:
                assert message["type"] == "success", message
                return message["result"]
