"""What is emitted for CUDA, as NVIDIA's assembler takes it. Nothing runs."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from tests.targets.device_kernels import ALL, dot, five_points, looked_up, lowered, lowered_for, needs, product, saxpy, update

from lend.diagnostics.errors import DeviceError
from lend.driver.inspected import named_target
from lend.driver.kernel import Kernel
from lend.targets.cuda import toolkit
from lend.targets.cuda.target import PROCESSORS

pytestmark = needs(toolkit.libdevice, toolkit.ptxas)


@pytest.mark.parametrize("processor", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: kernel.__name__)
def test_every_kind_of_kernel_is_assembled(kernel: Kernel[..., object], processor: str) -> None:
    made = lowered(kernel, f"cuda:{processor}")
    assert made.object[:4] == b"\x7fELF"
    assert all(0 < each.registers <= 64 and each.spilled == 0 for each in made.resources)
    assert made.resources


@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_processor_has_code(processor: str) -> None:
    assert lowered(saxpy, f"cuda:{processor}").resources


def test_a_proved_kernel_takes_the_registers_of_cuda_and_has_one_branch() -> None:
    made = lowered(saxpy, "cuda:sm_90")
    assert made.resources[0].registers <= 10  # nvcc 13 takes as many for the same loop
    assert len(re.findall(r"\bbra\b", made.asm)) == 1  # past the last element
    assert len(re.findall(r"\bsetp\b", made.asm)) == 1


def test_what_is_only_read_goes_through_the_read_only_cache() -> None:
    assert "ld.global.nc.b32" in lowered(saxpy, "cuda:sm_90").asm
    assert len(re.findall(r"ld\.global\.nc", lowered(five_points, "cuda:sm_90").asm)) == 4


def test_products_are_fused_with_sums_and_pointers_are_the_devices() -> None:
    code = lowered(product, "cuda:sm_90").asm
    assert "fma.rn.f64" in code
    assert not re.findall(r"\b(ld|st)\.b\d+", code)  # generic accesses


def test_a_check_that_stays_records_the_fault_and_goes_on() -> None:
    code = lowered(looked_up, "cuda:sm_90").asm
    assert "lend_fault" in code and "atom" in code
    assert "trap" not in code


def test_a_reduction_folds_in_the_memory_of_its_block() -> None:
    made = lowered(dot, "cuda:sm_90")
    assert made.resources[0].shared == 64 * 8
    assert ".maxntid 64, 1, 1" in made.asm
    assert "barrier.sync" in made.asm or "bar.sync" in made.asm


def test_a_processor_that_does_not_exist() -> None:
    with pytest.raises(DeviceError, match="there is no CUDA target `sm_20`; there are sm_75, "):
        named_target("cuda:sm_20")
    with pytest.raises(DeviceError, match="there is no target `cuba`"):
        named_target("cuba")


def test_lower_gives_the_code_of_a_target_that_is_not_here() -> None:
    made = saxpy.lower(target="cuda:sm_90")
    assert ".target sm_90" in made.asm and "fmul" in made.llvm
    assert made.resources[0].registers <= 10 and made.resources[0].spilled == 0
    with pytest.raises(DeviceError, match="there is no CUDA target `sm_1`"):
        saxpy.lower(target="cuda:sm_1")


@pytest.mark.parametrize(
    ("kernel", "elements", "wide"),
    [
        (saxpy, 4, {"ld.global.nc.v4.b32": 1, "ld.global.v4.b32": 1, "st.global.v4.b32": 1}),
        (saxpy, 2, {"ld.global.nc.v2.b32": 1, "ld.global.v2.b32": 1, "st.global.v2.b32": 1}),
        (
            five_points,
            4,
            {"ld.global.nc.v4.b32": 3, "st.global.v4.b32": 1},
        ),  # the middle row's six elements: one and two single ones
        (update, 2, {"ld.global.nc.v2.b64": 1, "ld.global.v2.b64": 1, "st.global.v2.b64": 1}),
    ],
    ids=["four", "two", "stencil", "f64"],
)
def test_several_elements_for_each_thread_are_read_and_written_at_once(
    kernel: Kernel[..., object], elements: int, wide: dict[str, int]
) -> None:
    made = lowered_for(kernel, "cuda:sm_90", elements)
    assert Counter(re.findall(r"\b(?:ld|st)\.global[\w.]*\.v\d\.\w+", made.asm)) == wide
    assert [each.kernel for each in made.resources] == ["region_0", "region_0_packs"]
    assert all(each.spilled == 0 for each in made.resources)
    assert made.resources[0] == lowered_for(kernel, "cuda:sm_90", 1).resources[0]  # one element costs what it did
