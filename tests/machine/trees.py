"""Recorded machines: small functions that write the /proc and /sys files of one into a folder.

The texts are as the kernels of such machines print them, cut down to what is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n"
V1_CPU_MOUNT = "33 25 0:28 {top} /sys/fs/cgroup/cpu,cpuacct ro,relatime - cgroup cgroup rw,cpu,cpuacct\n"

XEON = (
    "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8488C\n"
    "flags\t\t: fpu sse4_2 avx avx2 f16c avx512f avx512_vnni avx512_bf16 amx_bf16 amx_int8 hypervisor\n"
)


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def cpus(root: Path, count: int, *, siblings: str = "{cpu}", allowed: str = "") -> Path:
    """`count` CPUs; `siblings` is each one's thread_siblings_list, a format of cpu and other (its twin)."""
    files = {
        "sys/devices/system/cpu/online": f"0-{count - 1}\n" if count > 1 else "0\n",
        "proc/self/status": f"Name:\tpython\nCpus_allowed_list:\t{allowed or f'0-{count - 1}'}\n",
    }
    for cpu in range(count):
        low, high = sorted((cpu, (cpu + count // 2) % count))
        text = siblings.format(cpu=cpu, low=low, high=high)
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"] = text + "\n"
    return write(root, files)


def docker_v2(root: Path) -> Path:
    """docker run --cpus 2 on a 64-thread machine with a cgroup namespace: our group looks like the root."""
    cpus(root, 64, siblings="{low},{high}")
    return write(
        root,
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": V2_MOUNT,
            "sys/fs/cgroup/cpu.max": "200000 100000\n",
            "sys/fs/cgroup/memory.max": "2147483648\n",
            "proc/meminfo": "MemTotal:       263921232 kB\nMemAvailable:   251000000 kB\n",
            "proc/cpuinfo": XEON,
            ".dockerenv": "",
        },
    )


def kubernetes_v1(root: Path) -> Path:
    """A pod with a limit of 500m on cgroup v1, no namespace: the mount shows our group alone."""
    group = "/kubepods/burstable/pod8f3c/5d1e"
    cpus(root, 16)
    return write(
        root,
        {
            "proc/self/cgroup": f"11:memory:{group}\n4:cpu,cpuacct:{group}\n1:name=systemd:{group}\n",
            "proc/self/mountinfo": V1_CPU_MOUNT.format(top=group),
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
    )


def kubernetes_v1_from_the_node(root: Path) -> Path:
    """The same seen from the node: the pod's quota (2.5) is tighter than the container's (none)."""
    pod = "sys/fs/cgroup/cpu,cpuacct/kubepods/burstable/pod8f3c"
    cpus(root, 16)
    return write(
        root,
        {
            "proc/self/cgroup": "4:cpu,cpuacct:/kubepods/burstable/pod8f3c/5d1e\n",
            "proc/self/mountinfo": V1_CPU_MOUNT.format(top="/"),
            f"{pod}/5d1e/cpu.cfs_quota_us": "-1\n",
            f"{pod}/5d1e/cpu.cfs_period_us": "100000\n",
            f"{pod}/cpu.cfs_quota_us": "250000\n",
            f"{pod}/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
        },
    )


def systemd_slice(root: Path) -> Path:
    """A service with CPUQuota=400% in a slice with 150%: the parent is the tighter one."""
    unit = "sys/fs/cgroup/system.slice/models.slice"
    cpus(root, 8)
    return write(
        root,
        {
            "proc/self/cgroup": "0::/system.slice/models.slice/serve.service\n",
            "proc/self/mountinfo": V2_MOUNT,
            f"{unit}/serve.service/cpu.max": "400000 100000\n",
            f"{unit}/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/system.slice/cpu.max": "max 100000\n",
        },
    )


def no_quota(root: Path) -> Path:
    cpus(root, 8)
    return write(
        root,
        {
            "proc/self/cgroup": "0::/user.slice/session-2.scope\n",
            "proc/self/mountinfo": V2_MOUNT,
            "sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
        },
    )


def hybrid(root: Path) -> Path:
    """cgroup v1 holds the cpu controller (3 CPUs), an empty v2 hierarchy hangs beside it."""
    cpus(root, 8)
    return write(
        root,
        {
            "proc/self/cgroup": "4:cpu,cpuacct:/jobs\n1:name=systemd:/jobs\n0::/jobs\n",
            "proc/self/mountinfo": V1_CPU_MOUNT.format(top="/")
            + "42 25 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us": "300000\n",
            "sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/unified/jobs/cgroup.procs": "1\n",
        },
    )


def outside_the_mount(root: Path) -> Path:
    """A container whose /proc/self/cgroup shows a path that leads out of what is mounted."""
    cpus(root, 8)
    return write(
        root,
        {
            "proc/self/cgroup": "0::/../other\n",
            "proc/self/mountinfo": V2_MOUNT.replace("0:26 / ", "0:26 /mine "),
            "sys/fs/cgroup/cpu.max": "100000 50000\n",
        },
    )


def host_path_in_a_namespace(root: Path) -> Path:
    """The path is the host's, the mount's root is the container's: no such folder below the mount."""
    cpus(root, 8)
    return write(
        root,
        {
            "proc/self/cgroup": "0::/docker/4c1d\n",
            "proc/self/mountinfo": V2_MOUNT,
            "sys/fs/cgroup/cpu.max": "600000 100000\n",
        },
    )


def blank_in_the_mount_point(root: Path) -> Path:
    cpus(root, 4)
    return write(
        root,
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": r"30 23 0:26 / /my\040groups rw - cgroup2 cgroup rw" + "\n",
            "my groups/cpu.max": "100000 100000\n",
        },
    )


def smt_64(root: Path, allowed: str = "0-63") -> Path:
    """64 CPUs on 32 cores: CPU n and n + 32 share a core."""
    return cpus(root, 64, siblings="{low},{high}", allowed=allowed)


def big_little(root: Path) -> Path:
    """Four Cortex-A55 and four Cortex-A76, as an ARM kernel tells it: no siblings, no model name."""
    files = {
        "sys/devices/system/cpu/online": "0-7\n",
        "proc/self/status": "Cpus_allowed_list:\t0-7\n",
        "proc/cpuinfo": "".join(
            f"processor\t: {cpu}\nFeatures\t: fp asimd asimdhp asimddp\nCPU implementer\t: 0x41\n"
            f"CPU part\t: {'0xd05' if cpu < 4 else '0xd0b'}\n\n"
            for cpu in range(8)
        ),
    }
    for cpu in range(8):
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/core_id"] = f"{cpu % 4}\n"
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"] = f"{cpu // 4}\n"
    return write(root, files)


def malformed(root: Path) -> Path:
    return write(
        root,
        {
            "proc/self/cgroup": "garbage\n::\n0::\n4:cpu\n0::/\n",
            "proc/self/mountinfo": "- -\nx\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
            "proc/self/status": "Cpus_allowed_list:\twhat\n",
            "proc/cpuinfo": "\0\0: :\nflags\nCPU part\t: 0xzz\n",
            "proc/meminfo": "MemTotal: lots\n",
            "proc/driver/nvidia/version": "?\n",
            "sys/fs/cgroup/cpu.max": "much 0\n",
            "sys/fs/cgroup/memory.max": "-1 5\n",
            "sys/devices/system/cpu/online": "0-\n",
            "sys/devices/system/cpu/cpu0/topology/core_id": "\n",
            "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "fast\n",
        },
    )


ALL = (
    docker_v2,
    kubernetes_v1,
    kubernetes_v1_from_the_node,
    systemd_slice,
    no_quota,
    hybrid,
    outside_the_mount,
    host_path_in_a_namespace,
    blank_in_the_mount_point,
    smt_64,
    big_little,
    malformed,
)
