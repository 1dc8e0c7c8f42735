"""What is emitted for HIP, linked. Nothing runs."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from tests.targets.device_kernels import (
    ALL,
    dot,
    five_points,
    library,
    looked_up,
    lowered,
    lowered_for,
    needs,
    product,
    saxpy,
    update,
)

from lend.diagnostics.errors import DeviceError
from lend.driver.inspected import named_target
from lend.driver.kernel import Kernel
from lend.targets.hip import emit, notes, toolkit
from lend.targets.hip.dialect import ABI, WAVE
from lend.targets.hip.target import PROCESSORS

pytestmark = needs(toolkit.linker)
with_library = needs(toolkit.ocml)

EM_AMDGPU = 224
WITHOUT = [kernel for kernel in ALL if kernel is not library]


@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize("kernel", WITHOUT, ids=lambda kernel: kernel.__name__)
def test_every_kind_of_kernel_is_linked(kernel: Kernel[..., object], processor: str) -> None:
    made = lowered(kernel, f"hip:{processor}")
    assert made.object[:4] == b"\x7fELF" and int.from_bytes(made.object[18:20], "little") == EM_AMDGPU
    assert made.resources and all(each.registers <= 128 and each.spilled == 0 for each in made.resources)


@with_library
@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx1100"])
def test_mathematical_functions_are_amds(processor: str) -> None:
    made = lowered(library, f"hip:{processor}")
    assert made.object[:4] == b"\x7fELF"
    assert not re.search(r"declare .*@__ocml", made.llvm)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_processor_has_code(processor: str) -> None:
    assert lowered(saxpy, f"hip:{processor}").resources


def test_a_proved_kernel_is_small_and_has_one_branch() -> None:
    made = lowered(saxpy, "hip:gfx90a")
    assert made.resources[0].registers <= 6
    assert len(re.findall(r"s_cbranch", made.asm)) == 1  # past the last element


def test_memory_is_the_devices_and_products_are_fused() -> None:
    code = lowered(product, "hip:gfx90a").asm
    assert "global_load" in code and "flat_load" not in code
    assert re.search(r"v_fma|v_fmac", code)


def test_a_check_that_stays_records_the_fault_and_goes_on() -> None:
    code = lowered(looked_up, "hip:gfx90a").asm
    assert "atomic" in code and "s_trap" not in code


def test_a_reduction_folds_in_the_memory_of_its_block() -> None:
    made = lowered(dot, "hip:gfx1100")
    assert made.resources[0].shared == 64 * 8
    assert "s_barrier" in made.asm and "ds_" in made.asm


def test_versions_of_processors_as_their_library_counts_them() -> None:
    assert "@__oclc_ISA_version = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 9010" in emit.constants(
        "gfx90a"
    )
    assert "constant i32 11000" in emit.constants("gfx1100")
    assert "constant i32 9402" in emit.constants("gfx942")


def test_a_processor_that_does_not_exist() -> None:
    with pytest.raises(DeviceError, match="there is no HIP target `gfx1`"):
        named_target("hip:gfx1")


@pytest.mark.parametrize(
    ("kernel", "elements", "loads", "stores"),
    [(saxpy, 4, 2, 1), (update, 2, 2, 1), (five_points, 4, 3, 1)],
    ids=["f32", "f64", "stencil"],
)
def test_several_elements_for_each_thread_are_read_and_written_at_once(
    kernel: Kernel[..., object], elements: int, loads: int, stores: int
) -> None:
    made = lowered_for(kernel, "hip:gfx90a", elements)
    found = Counter(re.findall(r"global_(?:load|store)_dwordx4", made.asm))
    assert found == {"global_load_dwordx4": loads, "global_store_dwordx4": stores}
    assert all(each.spilled == 0 for each in made.resources)
    assert made.resources[0] == lowered_for(kernel, "hip:gfx90a", 1).resources[0]


def test_notes_hold_what_the_assembly_says() -> None:
    made = lowered(product, "hip:gfx90a")
    (kernel,) = notes.metadata(made.object)["amdhsa.kernels"]
    assert kernel[".name"] == "region_0" and kernel[".wavefront_size"] == 64
    assert re.search(rf"\.vgpr_count: +{made.resources[0].registers}\n", made.asm)
    assert re.search(rf"\.sgpr_count: +{made.resources[0].scalar_registers}\n", made.asm)


def test_addresses_are_the_waves_but_for_one_register() -> None:
    code = lowered(saxpy, "hip:gfx90a").asm
    loads = re.findall(r"global_load_dword v\d+, (v\d+), s\[\d+:\d+\]", code)
    assert len(loads) == 2 and len(set(loads)) == 1
    assert re.search(rf"global_store_dword {loads[0]}, v\d+, s\[\d+:\d+\]", code)
    grid = lowered(five_points, "hip:gfx90a").asm
    assert "v_readfirstlane" in grid
    assert "v_mad_u64_u32" not in grid and "v_mul_lo_u32" not in grid  # rows are found by scalar arithmetic


def test_rows_of_a_block_are_whole_waves() -> None:
    assert all(shape[0] % WAVE == 0 for shape in ABI.shapes)
