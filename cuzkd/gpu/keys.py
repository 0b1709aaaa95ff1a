"""The proving keys that a device holds: loaded on first use, the least recently used one leaves first."""

from __future__ import annotations

import logging
from pathlib import Path

from cuzkd.circuits import open_circuit
from cuzkd.gpu.device import Device, LoadedKey
from cuzkd.model import CircuitRef
from cuzkd.recent import Recent

_log = logging.getLogger(__name__)


class KeyCache:
    """At most `capacity` keys on one device."""

    def __init__(self, device: Device, state_dir: Path, capacity: int = 4) -> None:
        self._device = device
        self._state_dir = state_dir
        self._keys: Recent[LoadedKey] = Recent(_unload, capacity)

    @property
    def held(self) -> tuple[str, ...]:
        """The digests of the circuits whose keys are on the device."""
        return self._keys.held

    def get(self, ref: CircuitRef) -> LoadedKey:
        """The circuit's key, brought to the device now if it was not there."""
        return self._keys.get(ref.digest, lambda: self._load(ref))

    def drop(self, digest: str) -> None:
        """Drop a circuit's key from the device; nothing if it is not there."""
        self._keys.forget(digest)

    def _load(self, ref: CircuitRef) -> LoadedKey:
        key = self._device.load(open_circuit(self._state_dir, ref))
        _log.info("loaded the key of circuit %s (domain 2^%d)", ref.digest[:12], ref.shape.log_domain)
        return key


def _unload(key: LoadedKey) -> None:
    digest = key.circuit.ref.digest
    key.close()
    _log.info("dropped the key of circuit %s", digest[:12])
