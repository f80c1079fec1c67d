"""The site, built once and served from a plain file server under a sub-path; nothing
else is reached.
"""

import functools
import http.server
import threading
from contextlib import contextmanager
from html.parser import HTMLParser

SUB_PATH = "/some/where"
MEGABYTE = 1024 * 1024
ALIVE = "#status[data-state=alive]"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files, and no lines on stderr."""

    def log_message(self, *_):
        pass


@contextmanager
def served(root):
    """The address of the site in root/some/where."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(root))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{SUB_PATH}"
    finally:
        server.shutdown()
        server.server_close()


class Links(HTMLParser):
    """What a page leads to, and what can be led to in it."""

    def __init__(self, path):
        super().__init__()
        self.found, self.ids = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.found += [given[name] for name in ("href", "src") if given.get(name)]
        self.ids.add(given.get("id"))


class Tab:
    """A tab of a new browser profile. outside: what it asked of other hosts, in vain.
    loaded: bytes from ours. errors, warned: what scripts raised, and what the console
    holds of it and of the page's policy.
    """

    def __init__(self, browser, address, before=""):
        self.address, self.outside, self.loaded, self.errors = address, [], 0, []
        self.warned = []
        self.context = browser.new_context(
            viewport={"width": 1200, "height": 1000}, reduced_motion="reduce"
        )
        self.context.route(lambda url: not url.startswith(address), self._refuse)
        self.page = self.context.new_page()
        self.page.on("response", self._count)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._hear)
        if before:
            self.page.add_init_script(before)

    def _refuse(self, route):
        # a browser looks for it by itself
        if not route.request.url.endswith("/favicon.ico"):
            self.outside.append(route.request.url)
        route.abort()

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.warned.append(message.text)

    def _count(self, response):
        self.loaded += int(response.headers.get("content-length", 0))

    def open(self, path):
        self.page.goto(f"{self.address}/{path}")
        return self.page

    def close(self):
        self.context.close()


def size(path):
    """MB of all files of a folder."""
    return (
        sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        / MEGABYTE
    )


def playground(tab, link=""):
    """Its page, when Python is there, and the cluster can be clicked. link: the part of
    an address that holds a moment.
    """
    page = tab.open(f"playground.html{link}")
    page.wait_for_selector(ALIVE, timeout=240_000)
    page.wait_for_selector("#stage iframe", timeout=240_000)
    page.frame_locator("#stage iframe").locator("#drawing [data-act]").first.wait_for()
    return page


class Notebook:
    """A lesson in JupyterLite."""

    APP = "const book = window.jupyterapp.shell.currentWidget.content;"

    def __init__(self, tab, name):
        self.page, self.name = tab.page, name
        tab.open(f"lab/notebooks/index.html?path={name}")
        self.ready()

    def ready(self):
        there = (
            "window.jupyterapp?.shell.currentWidget?.content?.model?.cells?.length > 1"
        )
        self.page.wait_for_function(there, timeout=120_000)
        session = "window.jupyterapp.shell.currentWidget.context.sessionContext"
        self.page.wait_for_function(
            f"{session}.kernelDisplayStatus === 'idle'", timeout=240_000
        )

    def cell(self, words):
        """The number of the code cell whose source holds these words."""
        sources = self.page.evaluate(
            f"() => {{ {self.APP} return book.model.sharedModel.cells.map(c =>"
            " c.source); }"
        )
        types = self.page.evaluate(
            f"() => {{ {self.APP} return book.model.sharedModel.cells.map(c =>"
            " c.cell_type); }"
        )
        return next(
            n for n, text in enumerate(sources) if words in text and types[n] == "code"
        )

    def source(self, number):
        return self.page.evaluate(
            f"n => {{ {self.APP} return book.model.sharedModel.cells[n].source; }}",
            number,
        )

    def write(self, number, source):
        script = (
            f"([n, text]) => {{ {self.APP}"
            " book.model.sharedModel.cells[n].setSource(text); }"
        )
        self.page.evaluate(script, [number, source])

    def run(self, number):
        """Run a cell of the open notebook, and return its output."""
        command = "await window.jupyterapp.commands.execute('notebook:run-cell');"
        self.page.evaluate(
            f"async n => {{ {self.APP} book.activeCellIndex = n; {command} }}", number
        )
        return self.shown()[number]

    def run_all(self):
        self.page.evaluate(
            "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
        )
        return self.shown()

    def shown(self):
        """Each cell's outputs as text; an error's begin with the word error."""
        text = (
            "o => o.output_type === 'error' ? `error ${o.ename}: ${o.evalue}` : "
            "String(o.text ?? o.data?.['text/plain'] ?? '')"
        )
        cells = (
            "book.model.sharedModel.cells.map(c => (c.outputs ??"
            " []).map(shown).join('\\n'))"
        )
        return self.page.evaluate(
            f"() => {{ {self.APP} const shown = {text}; return {cells}; }}"
        )

    def picture(self):
        """Inside the frame of the picture that was shown first."""
        return self.page.frame_locator(".jp-OutputArea iframe").first

    def save(self):
        self.page.evaluate(
            "() => window.jupyterapp.commands.execute('docmanager:save')"
        )

    def reload(self):
        self.page.reload()
        self.ready()
