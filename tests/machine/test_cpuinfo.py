from __future__ import annotations

from pathlib import Path

from hotlap.machine.cpuinfo import processor
from tests.machine import trees


def test_a_xeon_in_a_container(tmp_path: Path) -> None:
    found = processor(trees.docker_v2(tmp_path))
    assert found.model == "Intel(R) Xeon(R) Platinum 8488C"
    assert found.instruction_sets == (
        "AVX2",
        "F16C",
        "AVX-512F",
        "VNNI",
        "AVX512-BF16",
        "AMX-BF16",
        "AMX-INT8",
    )
    assert found.virtual == "virtual machine, container"


def test_avx_vnni_of_client_processors_is_vnni_too(tmp_path: Path) -> None:
    trees.write(tmp_path, {"proc/cpuinfo": "flags\t: avx2 avx_vnni\n"})
    assert processor(tmp_path).instruction_sets == ("AVX2", "VNNI")


def test_big_and_little_cores_are_named_and_called_mixed(tmp_path: Path) -> None:
    found = processor(trees.big_little(tmp_path))
    assert found.model == "4 Cortex-A55 + 4 Cortex-A76"
    assert found.mixed
    assert found.instruction_sets == ("NEON", "FP16", "DOTPROD")
    assert found.virtual is None


def test_an_unknown_arm_core_shows_its_numbers(tmp_path: Path) -> None:
    trees.write(tmp_path, {"proc/cpuinfo": "CPU implementer\t: 0x48\nCPU part\t: 0xd01\n"})
    found = processor(tmp_path)
    assert found.model == "1 ARM core (maker 0x48, part 0xd01)"
    assert not found.mixed


def test_the_clock_and_the_maker_of_the_virtual_machine(tmp_path: Path) -> None:
    frequency = "sys/devices/system/cpu/cpu0/cpufreq"
    trees.write(
        tmp_path,
        {
            "proc/cpuinfo": "model name\t: X\nflags\t: hypervisor\n",
            "sys/class/dmi/id/sys_vendor": "QEMU\n",
            f"{frequency}/scaling_governor": "powersave\n",
            f"{frequency}/scaling_driver": "acpi-cpufreq\n",
            f"{frequency}/cpuinfo_max_freq": "3500000\n",
        },
    )
    found = processor(tmp_path)
    assert (found.governor, found.driver, found.max_mhz) == ("powersave", "acpi-cpufreq", 3500.0)
    assert found.virtual == "virtual machine (QEMU)"
    assert found.instruction_sets == ()


def test_wsl_is_named(tmp_path: Path) -> None:
    trees.write(tmp_path, {"proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n"})
    assert processor(tmp_path).virtual == "WSL"


def test_nothing_readable_is_unknown(tmp_path: Path) -> None:
    for root in (tmp_path / "empty", trees.malformed(tmp_path / "malformed")):
        found = processor(root)
        assert (found.model, found.instruction_sets, found.max_mhz, found.mixed) == (
            "unknown",
            None,
            None,
            False,
        )
