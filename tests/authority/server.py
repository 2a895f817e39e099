"""An authority that outlives all workers: it counts what arrives and what lands, and fails as it is told to.

It is asked in lines of JSON over a socket. Run ``python -m tests.authority.server SOCKET``.
"""

from __future__ import annotations

import json
import socketserver
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

# How long it says nothing before it hangs up, and after which time a slow payment lands.
SILENT_S: Final = 0.4
SLOW_S: Final = 0.3


@dataclass
class Account:
    """What is known of one key: how often a request with it arrived, and landed; the greatest epoch that was shown."""

    arrived: int = 0
    landed: int = 0
    refused: int = 0
    duplicates: int = 0
    epoch: int = 0
    faults: dict[str, int] = field(default_factory=dict)


@dataclass
class Authority:
    """It honours keys, or epochs, as each request says; a payment of the one kind is never of the other."""

    accounts: dict[str, Account] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def pay(self, request: dict[str, Any]) -> dict[str, Any]:
        """Land it, unless it is known, or of a worker of the past."""
        with self.lock:
            account = self.account(request)
            if request["honours"] == "epoch" and request["epoch"] < account.epoch:
                account.refused += 1
                return {"error": "another worker has taken over"}
            account.epoch = max(account.epoch, request["epoch"])
            if request["honours"] == "key" and account.landed:
                account.duplicates += 1
            else:
                account.landed += 1
            return {"paid": request["cents"]}

    def find(self, request: dict[str, Any]) -> dict[str, Any]:
        """Whether it landed; whoever asks is the one who may still pay."""
        with self.lock:
            account = self.account(request)
            account.epoch = max(account.epoch, request["epoch"])
            return {"paid": account.landed > 0}

    def told(self, request: dict[str, Any]) -> dict[str, Any]:
        """All that is known of the keys of a run."""
        with self.lock:
            nonce = request["nonce"]
            return {key: vars(one) for key, one in self.accounts.items() if key.startswith(nonce)}

    def account(self, request: dict[str, Any]) -> Account:
        """What is known of the key that a request has."""
        return self.accounts.setdefault(request["key"], Account())


class Handler(socketserver.StreamRequestHandler):
    """One request a connection."""

    server: Server

    def handle(self) -> None:
        """Answer it, late or never, as it asks to be treated."""
        line = self.rfile.readline()
        if not line.endswith(b"\n"):  # whoever asked is dead
            return
        request = json.loads(line)
        authority, fault = self.server.authority, request.get("fault", "")
        if request["op"] != "pay":
            self._say(getattr(authority, request["op"])(request))
            return
        with authority.lock:
            account = authority.account(request)
            account.arrived += 1
            account.faults[fault] = account.faults.get(fault, 0) + 1
        if fault == "before":
            time.sleep(SILENT_S)
            return
        if fault == "refuses":
            self._say({"error": "closed"})
            return
        if fault == "slow":
            time.sleep(SLOW_S)
        answer = authority.pay(request)
        if fault == "twice":  # the network has brought it twice
            authority.pay(request)
        if fault == "after":
            time.sleep(SILENT_S)
            return
        self._say(answer)

    def _say(self, answer: dict[str, Any]) -> None:
        self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingUnixStreamServer):
    """The authority behind a socket."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: str) -> None:
        super().__init__(path, Handler)
        self.authority = Authority()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked does not hear the answer: dead, frozen, or gone."""


def main(path: str) -> None:
    """Serve until this is killed."""
    with Server(path) as server:
        print("ready", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
