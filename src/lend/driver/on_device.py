"""Kernels on devices: a call that runs elsewhere than on the processor.

Does: find or compile a kernel's specialisation for a device, and launch it there; the object that `kernel.on(device)` gives.
Does not: bind calls (`runtime/arguments.py`), move data (`runtime/device_launch.py`), or make devices (`devices.py`).
Invariants: a call is bound, proved and checked as on the processor; what differs is where it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from lend.diagnostics.errors import ArgumentError, LendError
from lend.driver.devices import device
from lend.driver.foreign import lent_by
from lend.driver.native import NativePath, apply_on_devices
from lend.driver.specialisation import Specialisation, current
from lend.runtime import profile, vectorcall
from lend.runtime.arguments import Binding
from lend.runtime.arrays import Array, holds_array, is_foreign
from lend.runtime.device_launch import device_types, launch_on
from lend.runtime.launch import check_contracts
from lend.runtime.settings import config, snapshot

if TYPE_CHECKING:
    from lend.driver.kernel import Kernel
    from lend.targets.protocol import TargetDevice

P = ParamSpec("P")
R = TypeVar("R")


class OnDevice(vectorcall.Callable, Generic[P, R]):
    """A kernel on one device: call it as the kernel. Raises what the kernel raises, and DeviceError."""

    def __init__(self, kernel: Kernel[P, R], device: str, native: NativePath) -> None:
        self.kernel = kernel
        self.device = device
        self._native = native
        self.__name__ = kernel.__name__
        self.__doc__ = kernel.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if profile.active is not None:
                from lend.driver.profiled import profiled

                result: Any = profiled(self.kernel, profile.active, args, kwargs, self.device)
                return result
            args_there, kwargs_there, found = on_devices(args, kwargs)
            if self.device == "cpu":
                refuse(self.__name__, found)
            binding = self.kernel.bind(args_there, kwargs_there)
            if self.device == "cpu":
                return self.kernel.call_here(binding)
            return call_on(self.kernel, self.device, binding, self, self._native)
        except LendError as error:
            raise error.with_traceback(None) from None

    def on(self, device: str) -> Any:
        """The kernel on another device."""
        return self.kernel.on(device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __repr__(self) -> str:
        return f"<lend.kernel {self.kernel.__qualname__} on {self.device}>"


vectorcall.enable(OnDevice)


def on_devices(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], str | None]:
    """The arguments, with arrays on devices in the form that calls are bound by, and the device of the first of these."""
    found: list[str] = []

    def one(value: Any) -> Any:
        if not isinstance(value, Array):
            lent = lent_by(value) if is_foreign(value) else None
            if lent is None:
                return tuple([one(item) for item in value]) if holds_array(value) else value
            value = lent
        found.append(value.device)
        return value.place

    args, kwargs = tuple([one(value) for value in args]), {name: one(value) for name, value in kwargs.items()}
    return args, kwargs, found[0] if found else None


def refuse(kernel: str, found: str | None) -> None:
    """Raise ArgumentError for a call on the processor with an array that lives on a device."""
    if found is not None:
        raise ArgumentError(f"{kernel}: an argument lives on {found}, and this call runs on the cpu: pass its numpy()")


def call_on(kernel: Kernel[Any, Any], name: str, binding: Binding, owner: Any = None, native: NativePath | None = None) -> Any:
    """Run a bound call on a device. `owner`: what was called, whose next calls like this one `native` may lead there."""
    where = device(name)
    version, settings = config.version, snapshot()
    specialisation = kernel.specialised_for(where, binding, settings)
    open_proofs = specialisation.launch_proofs
    if open_proofs is not None:
        check_contracts(kernel.__name__, kernel.contracts, binding)
        open_proofs.require(binding)
    elif native is not None and settings.native and profile.active is None:
        native.used(owner, specialisation, binding, where)
        apply_on_devices(settings, version)
    return launch_on(where, specialisation.executable, binding)


class DeviceSpecialisations:
    """The specialisations of one kernel on devices."""

    def __init__(self) -> None:
        self._made: dict[Any, list[Specialisation]] = {}

    def find(
        self,
        where: TargetDevice,
        binding: Binding,
        elements: int,
        make: Callable[[Any], Specialisation],
    ) -> Specialisation:
        """The one for a call with so many elements for each thread, made now if need be; the kernel's lock is held."""
        types = device_types(binding)
        known = self._made.setdefault((where.name, elements, types), [])
        for found in known:
            if current(found.dependencies):
                return found
        made = make(types)
        known.append(made)
        return made
