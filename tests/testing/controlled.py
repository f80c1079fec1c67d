"""A client of the control endpoint (`serve --control`), for tests."""

import http.client
import json
from urllib.parse import urlsplit


class Controlled:
    """The endpoint of a server. ask(): what is answered; fails where that is no 2xx."""

    def __init__(self, served):
        self.address = urlsplit(served.ready["control"]).netloc
        self.token = served.ready["token"]

    def ask(self, method, path, body=None):
        status, told = self.asked(method, path, body)
        assert status in (200, 201), told
        return json.loads(told)

    def asked(self, method, path, body=None, **headers):
        """The status, and what is told. headers: None leaves one out."""
        connection = http.client.HTTPConnection(self.address, timeout=120)
        usual = {"Authorization": f"Bearer {self.token}", "Host": self.address}
        if body is not None:
            usual["Content-Type"] = "application/json"
            body = json.dumps(body) if not isinstance(body, bytes) else body
        sent = {name: text for name, text in (usual | headers).items() if text}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, text in sent.items():
            connection.putheader(name, text)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body.encode() if isinstance(body, str) else body)
        answer = connection.getresponse()
        try:
            return answer.status, answer.read().decode()
        finally:
            connection.close()
