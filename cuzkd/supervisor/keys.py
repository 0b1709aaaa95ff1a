"""Which proving keys the device holds, as the gpu process says it, and requests to bring one there or drop it."""

from __future__ import annotations

from collections.abc import Callable

from cuzkd.errors import CuzkdError, Unavailable
from cuzkd.ipc.messages import Message
from cuzkd.ipc.orders import Cache, CacheUsed, DropKey, KeyMoved, KeysHeld, LoadKey
from cuzkd.ipc.requests import Residency
from cuzkd.model import CircuitRef

Moved = Callable[[CuzkdError | None], None]
"""Is told when the key has come or gone, or why not."""


class Keys:
    """What is known of the device's keys; nothing is, while no gpu process lives.

    `send` gives the gpu process an order; False when there is none.
    """

    def __init__(self, send: Callable[[Message], bool]) -> None:
        self._send = send
        self._held: frozenset[str] = frozenset()
        self._asked: dict[int, Moved] = {}
        self._next_ticket = 1
        self.loads = 0
        self.hits = 0

    def residency(self, circuit: CircuitRef) -> Residency:
        """Where the circuit's key is."""
        return Residency.HOT if circuit.digest in self._held else Residency.COLD

    def load(self, circuit: CircuitRef, moved: Moved) -> None:
        """Bring the circuit's key to the device. `Unavailable` when there is no gpu process."""
        self._ask(LoadKey(self._next_ticket, circuit), moved)

    def drop(self, circuit: CircuitRef, moved: Moved) -> None:
        """Drop the circuit's key from the device. `Unavailable` when there is no gpu process."""
        self._ask(DropKey(self._next_ticket, circuit), moved)

    def hear(self, message: KeysHeld | CacheUsed | KeyMoved) -> None:
        """Take the gpu process's word."""
        match message:
            case KeysHeld(digests=digests):
                self._held = frozenset(digests)
            case CacheUsed(cache=Cache.KEY, found=found):
                self.hits += found
                self.loads += not found
            case KeyMoved(ticket=ticket, failure=failure):
                moved = self._asked.pop(ticket, None)
                if moved is not None:
                    moved(None if failure is None else failure.error())

    def gpu_down(self) -> None:
        """The gpu process is dead, and with it all that the device held."""
        self._held = frozenset()
        asked, self._asked = self._asked, {}
        for moved in asked.values():
            moved(Unavailable("the gpu process died before it had done it"))

    def _ask(self, order: LoadKey | DropKey, moved: Moved) -> None:
        if not self._send(order):
            raise Unavailable("the gpu process is being replaced")
        self._asked[order.ticket] = moved
        self._next_ticket += 1
