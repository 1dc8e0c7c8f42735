"""A kernel's code for a device, loaded: the host function and the kernels it launches.

Does: compile both passes, or load what was compiled before; fill the host function's table of kernels.  Does not: run it.
Invariants: what `object_code` gives is all that `load` needs, of which a driver may refuse its own part: it is made again then.
The kernels live as long as this.
"""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

from lend.diagnostics.errors import InternalError
from lend.lower.device.abi import Shape
from lend.lower.device.host import KERNELS
from lend.lower.device.module import DeviceCode
from lend.targets.cpu import loader
from lend.targets.device import DriverDevice


class Emitter(Protocol):
    """What a target does with a device's module."""

    def emit(self, device: str) -> bytes:
        """What the driver loads."""
        ...

    def assembly(self, device: str) -> str:
        """The same as text."""
        ...

    def optimised(self, device: str) -> str:
        """The LLVM IR that it is written from."""
        ...


class DeviceModule:
    """The two passes of one specialisation on one device. `ir`: the kernels' IR, if they were compiled here."""

    def __init__(
        self,
        device: DriverDevice,
        target: Emitter,
        host: Any,
        host_object: bytes,
        binary: bytes,
        kernels: tuple[tuple[str, Shape | None], ...],
        ir: str | None,
        native: bytes = b"",
    ) -> None:
        self.device = device
        self._target = target
        self._host = host
        self._host_object = host_object
        self._binary = binary
        self._named = kernels
        self._device_ir = ir
        self.times: dict[str, float] = {}
        names, shapes = [name for name, _ in kernels], [shape for _, shape in kernels]
        handles, self._kernels = device.build(binary, names, shapes, native) if names else ([], None)
        table = (ctypes.c_uint64 * max(len(names), 1)).from_address(host.data_address(KERNELS))
        for number, handle in enumerate(handles):
            table[number] = handle

    def address(self, name: str) -> int:
        """The address of the host function."""
        return self._host.address(name)

    def object_code(self) -> bytes:
        """Both passes, and what the driver has made of the kernels, for `load`."""
        lines = [" ".join([name, *map(str, shape or ())]) for name, shape in self._named]
        names = "\n".join(lines).encode()
        parts = (self._host_object, names, self._binary, self.device.native(self._kernels))
        return b"".join([len(part).to_bytes(8, "little") for part in parts] + list(parts))

    @property
    def llvm(self) -> str:
        """The optimised LLVM IR of the kernels."""
        return self._target.optimised(self._ir)

    @property
    def asm(self) -> str:
        """The kernels as text, in the target's own language."""
        return self._target.assembly(self._ir)

    @property
    def _ir(self) -> str:
        if self._device_ir is None:
            raise InternalError("this code was loaded without its IR")
        return self._device_ir


def compile_code(device: DriverDevice, target: Emitter, code: DeviceCode) -> DeviceModule:
    """Compile both passes and load them."""
    from lend.targets.cpu.emit import compile_module  # which loads LLVM

    binary = target.emit(code.device) if code.kernels else b""
    host = compile_module(code.host, symbols=_used(device, code.host))
    kernels = tuple(zip(code.kernels, code.shapes, strict=True))
    return DeviceModule(device, target, host, host.object_code(), binary, kernels, code.device)


def load_code(device: DriverDevice, target: Emitter, content: bytes) -> DeviceModule | None:
    """Load what `object_code` gave; None if it has to be compiled again."""
    parts: list[bytes] = []
    at = 8 * PARTS
    for k in range(PARTS):
        size = int.from_bytes(content[8 * k : 8 * k + 8], "little")
        parts.append(content[at : at + size])
        at += size
    host_object, names, binary, native = parts
    host = loader.load(host_object, dict(device.symbols))
    if host is None:
        return None
    kernels = tuple(_kernel(line) for line in names.decode().splitlines())
    return DeviceModule(device, target, host, host_object, binary, kernels, None, native)


PARTS = 4
"""The host function's object, the kernels' names, their binary, and what the driver has made of that."""


def _kernel(line: str) -> tuple[str, Shape | None]:
    name, *shape = line.split()
    return name, (int(shape[0]), int(shape[1]), int(shape[2])) if shape else None


def _used(device: DriverDevice, text: str) -> dict[str, int]:
    return {name: address for name, address in device.symbols.items() if f"@{name}(" in text}
