from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import onnxruntime
import pytest

from hotlap.cpus import usable_threads
from hotlap.errors import PlanError, ProviderUnavailable
from hotlap.plan import External, ModelRef, Plan
from hotlap.providers import Cpu, OpenVino
from hotlap.runtime import session as module
from hotlap.runtime.session import build
from tests import tiny
from tests.runtime.providers import device


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "m.onnx")


def options_of(plan: Plan, tmp_path: Path) -> Any:
    return module._options(plan, tmp_path, 2)


def test_threads_are_always_a_number_of_our_own(model: Path) -> None:
    assert build(model, Plan(), model.parent).threads == usable_threads()
    loaded = build(model, Plan(threads=1), model.parent)
    assert loaded.threads == 1
    assert loaded.session.get_session_options().intra_op_num_threads == 1
    assert loaded.session.get_session_options().inter_op_num_threads == 1


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.thread_unsafe(reason="it counts the threads of the process")
def test_a_session_starts_one_thread_less_than_asked_for(model: Path, threads: int) -> None:
    def running() -> set[str]:
        return {task.name for task in Path("/proc/self/task").iterdir()}

    before = running()  # threads of an earlier session may still be ending
    loaded = build(model, Plan(threads=threads), model.parent)
    assert len(running() - before) == threads - 1, "the calling thread is the first"
    del loaded


def test_more_threads_than_there_are_is_a_note(model: Path) -> None:
    many = usable_threads() + 30
    loaded = build(model, Plan(threads=many), model.parent)
    assert loaded.threads == many
    assert loaded.notes[0].startswith(f"{many} threads asked for, more than this process can use: host ")


@pytest.mark.parametrize(("spin", "allowed"), [("on", "1"), ("off", "0"), ("100us", "1")])
def test_spinning_reaches_ort(tmp_path: Path, spin: str, allowed: str) -> None:
    options = options_of(Plan(spin=spin), tmp_path)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == allowed
    if spin.endswith("us"):
        assert options.get_session_config_entry("session.intra_op.spin_duration_us") == "100"


def test_options_of_every_kind_reach_ort(tmp_path: Path) -> None:
    plan = Plan(
        session={
            "enable_mem_pattern": False,
            "graph_optimization_level": "ORT_ENABLE_BASIC",
            "execution_order": "PRIORITY_BASED",
            "log_severity_level": 2,
            "session.disable_prepacking": True,
        }
    )
    options = options_of(plan, tmp_path)
    assert options.enable_mem_pattern is False
    assert options.graph_optimization_level == onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    assert options.execution_order == onnxruntime.ExecutionOrder.PRIORITY_BASED
    assert options.log_severity_level == 2
    assert options.get_session_config_entry("session.disable_prepacking") == "1"
    assert options.get_session_config_entry("session.record_ep_graph_assignment_info") == "1"


def test_a_file_that_ort_writes_lands_beside_the_plan(model: Path, tmp_path: Path) -> None:
    plan = Plan(session={"optimized_model_filepath": "optimised.onnx"})
    build(model, plan, tmp_path)
    assert (tmp_path / "optimised.onnx").is_file()


@pytest.mark.thread_unsafe(reason="ONNX Runtime writes one file in place, and others would be reading it")
def test_optimisers_that_are_named_are_left_out(model: Path, tmp_path: Path) -> None:
    def written(**session: str) -> list[str]:
        build(model, Plan(session={"optimized_model_filepath": "optimised.onnx", **session}), tmp_path)
        return [n.op_type for n in onnx.load(tmp_path / "optimised.onnx").graph.node]

    assert written() == ["FusedGemm", "Gemm"]
    without = {"optimization.disable_specified_optimizers": "ConvActivationFusion;GemmActivationFusion"}
    assert written(**without) == ["Gemm", "Relu", "Gemm"]
    with pytest.raises(PlanError, match="ConvActivationFusion;GeluFusionL2"):
        written(**{"optimization.disable_specified_optimizers": "ConvActivationFusion,GemmActivationFusion"})


def test_an_attribute_that_this_ort_lacks_is_a_plan_error() -> None:
    with pytest.raises(PlanError, match=r"session\.no_such: this onnxruntime does not take 1"):
        module._set_attribute(onnxruntime.SessionOptions(), "no_such", 1)


def test_fallback_is_off(model: Path) -> None:
    assert build(model, Plan(), model.parent).session._enable_fallback is False


def test_ort_writes_nothing_to_stderr(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build(tiny.save(tiny.unused_weight(), tmp_path / "m.onnx"), Plan(), tmp_path)
    assert capfd.readouterr() == ("", "")


def test_code_in_a_plan_is_refused_unless_allowed_by_name(model: Path, tmp_path: Path) -> None:
    plan = Plan(custom_ops=("ops.so",))
    with pytest.raises(PlanError, match=r'loads code from "ops\.so".*allow_custom_ops=\[\'ops\.so\'\]'):
        build(model, plan, tmp_path)
    with pytest.raises(PlanError, match="loads code"):
        build(model, plan, tmp_path, allowed=["other.so"])
    with pytest.raises(PlanError, match=r'custom_ops: "ops\.so" does not load: .*No such file'):
        build(model, plan, tmp_path, allowed=["ops.so"])


def test_an_empty_chain_is_refused(model: Path) -> None:
    with pytest.raises(PlanError, match="provider"):
        build(model, Plan(providers=()), model.parent)


def test_a_provider_that_is_not_here_is_an_error_not_the_cpu(model: Path) -> None:
    with pytest.raises(ProviderUnavailable, match=r"m\.onnx: cuda not used: "):
        build(model, Plan(providers=("cuda",)), model.parent)


# ── plugin providers, by stand-ins: the real one offers a device on Intel hardware only ───────────────


class PluginOptions:
    def __init__(self) -> None:
        self.added: list[Any] = []

    def add_provider_for_devices(self, devices: list[Any], options: dict[str, str]) -> None:
        self.added.append((devices, options))

    def add_provider(self, name: str, options: dict[str, str]) -> None:
        self.added.append((name, options))


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """OpenVINO as a plugin with a CPU and a GPU; sessions are recorded, not built."""
    sessions: list[Any] = []
    devices = [device(OpenVino.ort_name, "CPU"), device(OpenVino.ort_name, "GPU")]

    def build_session(path: str, options: Any, providers: Any, enable_fallback: int) -> Any:
        sessions.append(SimpleNamespace(options=options, providers=providers, fallback=enable_fallback))
        return SimpleNamespace(disable_fallback=lambda: None)

    monkeypatch.setattr(module, "is_plugin", lambda cls: cls is OpenVino)
    monkeypatch.setattr(module, "offered_devices", lambda name: devices)
    monkeypatch.setattr(module.ort, "load", lambda: SimpleNamespace(InferenceSession=build_session))
    return sessions


def test_a_plugin_gets_its_device_as_an_object_and_its_options_as_texts(plugin: list[Any]) -> None:
    options = PluginOptions()
    plan = Plan(providers=("openvino", "cpu"), provider={"openvino": {"device": "GPU"}})
    module._session(Path("m.onnx"), plan, Path(), options, 2, [OpenVino, Cpu])
    (devices, texts), (name, _) = options.added
    assert [d.device.type.name for d in devices] == ["GPU"]
    assert set(texts) == {"load_config"}
    assert name == "CPUExecutionProvider"
    assert plugin[0].providers is None, "ORT ignores the options' providers when it is given a list"
    assert plugin[0].fallback == 0


def test_a_plugin_without_a_device_of_the_kind_says_so(plugin: list[Any]) -> None:
    plan = Plan(providers=("openvino",), provider={"openvino": {"device": "NPU"}})
    with pytest.raises(RuntimeError, match="no device of the kind NPU"):
        module._session(Path("m.onnx"), plan, Path(), PluginOptions(), 2, [OpenVino])


def test_openvino_for_real(model: Path) -> None:
    pytest.importorskip("onnxruntime_ep_openvino", reason="the OpenVINO plugin is not installed")
    from hotlap.runtime import provider_status

    status = provider_status("openvino")
    if not status.loads:
        pytest.skip(f"OpenVINO: {status.reason}")
    loaded = build(model, Plan(providers=("openvino",), threads=1), model.parent)
    assert loaded.placement == {"openvino": 3}


@pytest.mark.parametrize("name", ["m.onnx", "plan.toml", "w.bin", "./m.onnx", "link.onnx", "linked.onnx"])
def test_a_plan_cannot_have_ort_write_onto_what_it_needs(tmp_path: Path, name: str) -> None:
    model = tiny.save(tiny.add(), tmp_path / "m.onnx")
    (tmp_path / "plan.toml").write_text("")
    (tmp_path / "w.bin").write_bytes(b"w")
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    (tmp_path / "linked.onnx").hardlink_to(model)
    before = model.read_bytes()
    digest = "sha256:" + "0" * 64
    ref = ModelRef(path="m.onnx", digest=digest, external={"w.bin": External(size=1, digest=digest)})
    plan = Plan(model=ref, session={"optimized_model_filepath": name})
    with pytest.raises(PlanError, match="would overwrite"):
        build(model, plan, tmp_path)
    assert model.read_bytes() == before


def test_a_plan_cannot_write_through_a_link_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "lap").mkdir()
    (tmp_path / "outside.json").write_text("precious")
    (tmp_path / "lap" / "inside.json").symlink_to("../outside.json")
    model = tiny.save(tiny.add(), tmp_path / "lap" / "m.onnx")
    with pytest.raises(PlanError, match="leads out of the plan's folder"):
        build(model, Plan(session={"optimized_model_filepath": "inside.json"}), tmp_path / "lap")
    assert (tmp_path / "outside.json").read_text() == "precious"
