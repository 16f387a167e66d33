from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotlap.errors import PlanError, StorageError
from hotlap.plan import (
    FORMAT,
    RUN_OPTIONS,
    SESSION_OPTIONS,
    Evidence,
    External,
    Facts,
    ModelRef,
    Option,
    Plan,
    Serve,
    StuckAxis,
)
from hotlap.providers import PROVIDERS, OpenVino
from hotlap.providers.listing import ProviderOption, options_of

FORMATS = Path(__file__).parent / "formats"
DIGEST = "sha256:" + "0" * 64

# What a file name or a text may hold: all but a zero byte and half characters.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
names = texts.filter(lambda t: t.strip().strip("./\\ ") and not any(c in t for c in ":/\\") and ".." not in t)
digests = st.text("0123456789abcdef", min_size=64, max_size=64).map("sha256:{}".format)


def value_of(option: Option) -> st.SearchStrategy[Any]:
    if option.values:
        return st.sampled_from(option.values)
    if option.pattern:
        return st.just(option.example)
    return {
        "bool": st.booleans(),
        "int": st.integers(option.low, option.high if option.high is not None else 10**9),
        "str": texts,
        "path": names,
    }[option.kind]


def provider_value(option: ProviderOption) -> st.SearchStrategy[Any]:
    if option.values:
        return st.sampled_from(option.values)
    return {
        "true or false": st.booleans(),
        "a whole number": st.integers(option.low, 1 if option.name.startswith("trt_ep") else 4),
        "text": names,
        "a table of texts": st.dictionaries(names.map("x_{}".format), texts, max_size=2),
    }[option.kind]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    chain = draw(st.lists(st.sampled_from([n for n in PROVIDERS if n != "cpu"]), unique=True, max_size=3))
    chain += ["cpu"] if draw(st.booleans()) or not chain else []
    tables = {
        n: draw(
            st.fixed_dictionaries({}, optional={o.name: provider_value(o) for o in options_of(PROVIDERS[n])})
        )
        for n in chain
        if draw(st.booleans())
    }
    forbidden = {"session.intra_op_thread_affinities"} | {k for k in SESSION_OPTIONS if "inter_op" in k}
    forbidden |= {"session.disable_cpu_ep_fallback", "session.force_spinning_stop"}
    session = {k: o for k, o in SESSION_OPTIONS.items() if k not in forbidden and _useful(o, chain)}
    run = {k: o for k, o in RUN_OPTIONS.items() if _useful(o, chain)}
    shapes = st.dictionaries(
        texts, st.lists(st.integers(1, 4096), max_size=4).map(tuple), min_size=1, max_size=2
    )
    external = st.dictionaries(
        names, st.builds(External, size=st.integers(0, 2**40), digest=digests), max_size=2
    )
    finite = st.floats(allow_nan=False, allow_infinity=False)
    models = st.builds(ModelRef, path=names, digest=digests, external=external)
    small = st.integers(0, 2**40)
    stuck = st.builds(
        StuckAxis,
        input=texts,
        axis=small,
        works=st.lists(small, max_size=2).map(tuple),
        fails=st.lists(small, max_size=3).map(tuple),
        said=texts,
    )
    facts = st.builds(
        Facts,
        rows=st.sampled_from(["independent", "dependent", "unknown"]),
        why=texts,
        axes=st.dictionaries(texts, small, max_size=2),
        stuck=st.lists(stuck, max_size=2).map(tuple),
        shapes=st.dictionaries(texts, st.lists(small | texts, max_size=3).map(tuple), max_size=2),
        repeats=st.sampled_from(["equal", "differ", "unknown"]),
        repeats_by=st.floats(0, 2),
        padding=st.dictionaries(texts, st.sampled_from(["insensitive", "sensitive", "unknown"]), max_size=2),
        seconds=st.dictionaries(st.integers(1, 10**6).map(str), st.floats(0, 1e6), max_size=2),
        date=texts,
    )
    serves = st.builds(
        Serve,
        lanes=st.none() | st.integers(1, 1024),
        max_batch=st.integers(1, 65536),
        inline=st.none() | st.booleans(),
        spin=st.none() | st.sampled_from(["off", "on", "1us", "1000000us"]),
        queue_requests=st.integers(1, 2**31),
        queue_bytes=st.integers(1, 2**62),
        priorities=st.integers(1, 16),
        timeout=st.none() | st.floats(1e-6, 1e6),
    )
    model = draw(st.none() | models)
    evidence = st.builds(Evidence, baseline=texts, ratio=finite, low=finite, high=finite, date=texts)
    spin = draw(st.just("on") | st.integers(1, 1_000_000).map("{}us".format))
    return Plan(
        model=model,
        providers=tuple(chain),
        threads=draw(st.none() | st.integers(1, 4096)),
        spin=spin,
        provider=tables,
        session=draw(st.fixed_dictionaries({}, optional={k: value_of(o) for k, o in session.items()})),
        run=draw(st.fixed_dictionaries({}, optional={k: value_of(o) for k, o in run.items()})),
        warm=tuple(draw(st.lists(shapes, max_size=2))),
        evidence=draw(st.none() | evidence),
        facts=draw(st.none() | facts) if model else None,
        serve=draw(st.none() | serves),
        custom_ops=tuple(draw(st.lists(names, unique=True, max_size=2))),
    )


def _useful(option: Option, chain: list[str]) -> bool:
    return not option.needs or bool(set(option.needs) & set(chain))


@settings(max_examples=100, deadline=None)
@given(plans())
def test_what_is_written_is_read_again(plan: Plan) -> None:
    assert Plan.loads(plan.dumps()) == plan


def test_a_plan_goes_through_a_file(tmp_path: Path) -> None:
    plan = Plan(threads=2, spin="off", model=ModelRef(path="m.onnx", digest=DIGEST))
    plan.save(tmp_path / "plan.toml")
    assert Plan.load(tmp_path / "plan.toml") == plan
    assert Plan.load(str(tmp_path / "plan.toml")) == plan


def test_the_text_has_the_essentials_and_no_defaults() -> None:
    assert Plan(threads=2).dumps() == (
        "# hotlap plan: how to run one model on one kind of machine.\n\n"
        'format = 3\nproviders = [\n    "cpu",\n]\nthreads = 2\nspin = "on"\n'
    )


def test_equal_plans_have_equal_text() -> None:
    one = Plan(session={"enable_mem_reuse": True, "enable_mem_pattern": False})
    other = Plan(
        session={"enable_mem_pattern": False, "enable_mem_reuse": True}, providers=["CPUExecutionProvider"]
    )
    assert one == other
    assert one.dumps() == other.dumps()


def test_every_older_format_opens() -> None:
    known = sorted(p.name for p in FORMATS.glob("v*.toml"))
    assert known == sorted(f"v{n}.toml" for n in range(1, FORMAT + 1))
    for name in known:
        plan = Plan.load(FORMATS / name)
        assert Plan.loads(plan.dumps()) == plan


def test_format_1_is_understood() -> None:
    plan = Plan.load(FORMATS / "v1.toml")
    assert plan.model == ModelRef(
        path="model.onnx",
        digest="sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        external={
            "weights/model.bin": External(
                size=123456789,
                digest="sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
            )
        },
    )
    assert plan.providers == ("tensorrt", "cuda", "openvino", "cpu")
    assert (plan.threads, plan.spin, plan.custom_ops) == (4, "100us", ("libcustom.so",))
    assert plan.warm[1] == {"input_ids": (8, 128), "attention_mask": (8, 128)}
    assert plan.attributes() == {"graph_optimization_level": "ORT_ENABLE_ALL", "enable_cpu_mem_arena": False}
    assert plan.config_entries() == {
        "session.intra_op.allow_spinning": "1",
        "session.intra_op.spin_duration_us": "100",
        "session.dynamic_block_base": "4",
        "session.intra_op.spin_backoff_max": "8",
    }
    assert plan.run_attributes() == {"log_severity_level": 3}
    assert plan.run_entries() == {"gpu_graph_id": "-1"}
    assert plan.provider_options("cuda").options(4, "on") == {
        "device_id": "0",
        "cudnn_conv_algo_search": "HEURISTIC",
        "an_option_of_later": "1",
    }
    assert plan.evidence is not None and plan.evidence.ratio == 1.83


def test_format_2_has_what_probing_learned() -> None:
    plan = Plan.load(FORMATS / "v2.toml")
    assert plan.facts == Facts(
        rows="dependent",
        why='output "y" of a row among 3 changes by 0.26 of its range beside a neighbour ("loud")',
        axes={"input_ids": 0, "state": 1, "onnx::Shape_422": 0},
        stuck=(
            StuckAxis(
                input="images",
                axis=2,
                works=(640,),
                fails=(320, 639, 641, 1280),
                said="node Reshape: the input tensor cannot be reshaped to the requested shape",
            ),
        ),
        shapes={"387": ("?", 1, 8210), "logits": ("batch", "sequence", 2)},
        repeats="differ",
        repeats_by=3e-7,
        padding={"sequence": "insensitive", "images[3]": "unknown"},
        seconds={"1": 0.0019, "8": 0.0071},
        onnxruntime="1.32.0",
        date="2026-11-30",
    )
    assert Plan.load(FORMATS / "v1.toml").facts is None


def test_format_3_says_how_it_is_served() -> None:
    plan = Plan.load(FORMATS / "v3.toml")
    assert plan.serve == Serve(
        lanes=2,
        max_batch=16,
        inline=False,
        spin="50us",
        queue_requests=64,
        queue_bytes=1048576,
        priorities=3,
        timeout=2.5,
    )
    assert plan.facts is not None and Plan.load(FORMATS / "v2.toml").serve is None


def test_facts_need_the_model_that_they_are_about() -> None:
    with pytest.raises(PlanError, match=r"facts: are about one model, .*add a \[model\] table"):
        Plan(facts=Facts(rows="independent"))


@pytest.mark.parametrize(
    ("spin", "entries"),
    [
        ("off", {"session.intra_op.allow_spinning": "0"}),
        ("on", {"session.intra_op.allow_spinning": "1"}),
        ("50us", {"session.intra_op.allow_spinning": "1", "session.intra_op.spin_duration_us": "50"}),
        ("0050us", {"session.intra_op.allow_spinning": "1", "session.intra_op.spin_duration_us": "50"}),
    ],
)
def test_spin_becomes_entries(spin: str, entries: dict[str, str]) -> None:
    assert Plan(spin=spin).config_entries() == entries


def test_truth_becomes_ones_and_zeros() -> None:
    plan = Plan(session={"session.disable_prepacking": True, "session.strict_shape_type_inference": False})
    entries = plan.config_entries()
    assert (entries["session.disable_prepacking"], entries["session.strict_shape_type_inference"]) == (
        "1",
        "0",
    )


def test_files_lie_in_the_plans_folder(tmp_path: Path) -> None:
    plan = Plan(
        session={"optimized_model_filepath": "out.onnx", "session.collect_node_memory_stats_to_file": "m.csv"}
    )
    assert plan.attributes() == {"optimized_model_filepath": "out.onnx"}
    assert plan.attributes(tmp_path) == {"optimized_model_filepath": str(tmp_path / "out.onnx")}
    assert plan.config_entries(tmp_path)["session.collect_node_memory_stats_to_file"] == str(
        tmp_path / "m.csv"
    )


def test_provider_options_may_be_given_as_their_value() -> None:
    plan = Plan(providers=["openvino"], provider={"openvino": OpenVino(precision="bf16")})
    assert plan.provider == {"openvino": {"precision": "bf16"}}
    assert plan.provider_options("OpenVINOExecutionProvider") == OpenVino(precision="bf16")
    assert Plan().provider_options("openvino") == OpenVino()


def test_a_plan_made_in_python_is_checked_too() -> None:
    with pytest.raises(PlanError, match='threads: expected a whole number, got the text "2"'):
        Plan(threads="2")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="spin: expected"):
        msgspec.structs.replace(Plan(), spin="100")


def test_a_newer_format_is_told_before_its_unknown_keys() -> None:
    with pytest.raises(PlanError) as caught:
        Plan.loads("format = 99\nsomething_new = 1", where="p.toml")
    assert str(caught.value) == (
        "p.toml: format: 99 was made by a newer hotlap; this one reads up to 3: upgrade hotlap"
    )


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("thread = 2", 'thread: unknown key (did you mean "threads"?); a plan has format, model'),
        ("intra_op_num_threads = 2", "intra_op_num_threads: write instead threads"),
        ("enable_mem_pattern = true", "enable_mem_pattern: it belongs under [session]"),
        ("gpu_graph_id = 1", "gpu_graph_id: it belongs under [run]"),
    ],
)
def test_an_unknown_key_is_answered(toml: str, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan.loads(toml)
    assert said in str(caught.value)


def test_code_that_a_plan_names_is_listed_and_not_loaded(tmp_path: Path) -> None:
    plan = Plan(
        providers=["tensorrt", "qnn", "cpu"],
        provider={
            "tensorrt": {"trt_extra_plugin_lib_paths": "a.so;b.so", "trt_fp16_enable": True},
            "qnn": {"backend_path": "libQnnHtp.so", "extra": {"later": "/x/lib.so.1", "other": "solid"}},
        },
        custom_ops=["ops.so", str(tmp_path / "missing.so")],
    )
    code = ("ops.so", str(tmp_path / "missing.so"), "libQnnHtp.so", "/x/lib.so.1", "a.so;b.so")
    assert set(plan.named_code()) == set(code)
    assert Plan(providers=["cuda"], provider={"cuda": {"device_id": 0}}).named_code() == ()


def test_an_older_onnxruntime_is_refused_by_name() -> None:
    plan = Plan(spin="100us")
    plan.check_version("1.26.0")
    plan.check_version("1.31.0+cu12")
    with pytest.raises(PlanError) as caught:
        plan.check_version("1.24.4")
    assert str(caught.value) == (
        "spin: needs onnxruntime 1.26; 1.24.4 is installed and would ignore it in silence:"
        " upgrade onnxruntime, or take the key out of the plan"
    )
    with pytest.raises(PlanError, match=r'qdq_matmulnbits_block_size": needs onnxruntime 1\.25'):
        Plan(session={"session.qdq_matmulnbits_block_size": 32}).check_version("1.24.4")
    Plan(providers=["cuda"], provider={"cuda": {"device_id": 1}}, run={"gpu_graph_id": 2}).check_version(
        "1.24.4"
    )


def test_saving_where_there_is_no_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="the folder does not exist"):
        Plan().save(tmp_path / "missing" / "plan.toml")


# Nothing but PlanError ever comes out of a file, whatever is in it.

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats() | texts | st.dates()
junk = st.recursive(
    scalars, lambda s: st.lists(s, max_size=3) | st.dictionaries(texts, s, max_size=3), max_leaves=6
)


def only_plan_errors(toml: str) -> None:
    try:
        plan = Plan.loads(toml)
    except PlanError as error:
        said = str(error)
        assert said.startswith("plan: ") and "\n" not in said and "msgspec" not in said
    else:
        assert Plan.loads(plan.dumps()) == plan


@settings(deadline=None)
@given(st.text())
def test_any_text_is_a_plan_or_a_plan_error(text: str) -> None:
    only_plan_errors(text)


@settings(deadline=None)
@given(st.data())
def test_a_plan_with_something_else_in_it_is_a_plan_or_a_plan_error(data: st.DataObject) -> None:
    import tomllib

    import tomli_w

    table = tomllib.loads((FORMATS / "v2.toml").read_text())
    place: Any = table
    while True:
        key = data.draw(st.sampled_from(sorted(place)) | texts)
        if not isinstance(place.get(key), dict) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    value = data.draw(junk)
    if value is None:
        place.pop(key, None)
    else:
        place[key] = value
    try:
        toml = tomli_w.dumps(table)
    except (TypeError, ValueError):
        return  # TOML has no way to write it
    only_plan_errors(toml)


@settings(deadline=None)
@given(st.data())
def test_a_damaged_file_is_a_plan_or_a_plan_error(tmp_path_factory: Any, data: st.DataObject) -> None:
    whole = bytearray((FORMATS / "v2.toml").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=8))
        whole = whole or bytearray(b"\n")
    path = tmp_path_factory.getbasetemp() / "damaged.toml"
    path.write_bytes(whole)
    try:
        Plan.load(path)
    except PlanError as error:
        assert str(error).startswith(str(path)) and "\n" not in str(error)


@settings(deadline=None)
@given(junk)
def test_any_field_made_in_python_is_right_or_a_plan_error(value: Any) -> None:
    for field in Plan.__struct_fields__:
        try:
            plan = Plan(**{field: value})
        except PlanError:
            continue
        assert Plan.loads(plan.dumps()) == plan


@pytest.mark.parametrize("path", ["/tmp/evil", "lib\\evil", "evil.so_1", "evil.SO", "a/b"])
def test_a_library_by_any_ending_must_be_allowed(path: str) -> None:
    assert Plan(providers=["qnn"], provider={"qnn": {"extra": {"later": path}}}).named_code() == (path,)


def test_a_profile_is_written_into_the_plans_folder(tmp_path: Path) -> None:
    plan = Plan(session={"enable_profiling": True})
    assert plan.attributes(tmp_path)["profile_file_prefix"] == str(tmp_path / "onnxruntime_profile_")
    named = Plan(session={"enable_profiling": True, "profile_file_prefix": "mine"})
    assert named.attributes(tmp_path)["profile_file_prefix"] == str(tmp_path / "mine")
    assert "profile_file_prefix" not in Plan().attributes(tmp_path)
