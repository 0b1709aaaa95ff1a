"""The proving keys that a device holds: loaded on first use, the least recently used one leaves first."""

from __future__ import annotations

import logging
from collections import OrderedDict
from pathlib import Path

from cuzkd.circuits import open_circuit
from cuzkd.gpu.device import Device, LoadedKey
from cuzkd.model import CircuitRef

_log = logging.getLogger(__name__)


class KeyCache:
    """At most `capacity` keys on one device."""

    def __init__(self, device: Device, state_dir: Path, capacity: int = 4) -> None:
        self._device = device
        self._state_dir = state_dir
        self._capacity = capacity
        self._keys: OrderedDict[str, LoadedKey] = OrderedDict()

    @property
    def held(self) -> tuple[str, ...]:
        """The digests of the circuits whose keys are on the device."""
        return tuple(self._keys)

    def get(self, ref: CircuitRef) -> LoadedKey:
        """The circuit's key, brought to the device now if it was not there."""
        key = self._keys.get(ref.digest)
        if key is None:
            self._make_room()
            key = self._keys[ref.digest] = self._load(ref)
        self._keys.move_to_end(ref.digest)
        return key

    def drop(self, digest: str) -> None:
        """Drop a circuit's key from the device; nothing if it is not there."""
        key = self._keys.pop(digest, None)
        if key is not None:
            key.close()
            _log.info("dropped the key of circuit %s", digest[:12])

    def _load(self, ref: CircuitRef) -> LoadedKey:
        key = self._device.load(open_circuit(self._state_dir, ref))
        _log.info("loaded the key of circuit %s (domain 2^%d)", ref.digest[:12], ref.shape.log_domain)
        return key

    def _make_room(self) -> None:
        while len(self._keys) >= self._capacity:
            self.drop(next(iter(self._keys)))
