from __future__ import annotations

import json

import numpy as np
import pytest

from examples.inputs import decode, files, models, pictures, speech, texts
from hotlap.runtime import default_session
from tests.real import real


def test_lines_of_text_can_be_read() -> None:
    model = real("ocr6-rec")
    session = default_session(model.path)
    classes = decode.characters(session.session.get_modelmeta().custom_metadata_map["character"])
    wanted = pictures.phrases(12)
    read = [decode.greedy(session.run(f)["fetch_name_0"][0], classes) for f in model.feeds(12)]
    assert sum(a == b for a, b in zip(read, wanted, strict=True)) >= 11


def test_captchas_can_be_read() -> None:
    model = real("captcha")
    session = default_session(model.path)
    read = [decode.captcha(session.run(f)["logits"]) for f in model.feeds(12)]
    assert sum(a == b for a, b in zip(read, pictures.codes(12), strict=True)) >= 10


def test_lines_upside_down_are_told_apart() -> None:
    model = real("ocr-cls")
    session = default_session(model.path)
    found = [int(next(iter(session.run(f).values())).argmax()) for f in model.feeds(12)]
    assert found == [0, 1] * 6


def test_types_of_files_are_recognised() -> None:
    model = real("magika")
    labels = json.loads((model.path.parent / "config.min.json").read_text())["target_labels_space"]
    session = default_session(model.path)
    found = [labels[session.run(f)["target_label"].argmax()] for f in model.feeds(32)]
    assert sum(a == kind for a, (kind, _) in zip(found, files.files(32), strict=True)) >= 30


def test_sentences_of_a_pair_are_nearest_to_each_other() -> None:
    session = default_session(real("minilm").path)
    feeds = texts.feeds(models.folder() / models.TOKENIZER, ["input_ids", "attention_mask"])
    alike = decode.cosines(np.concatenate([session.run(f)["461"] for f in feeds]))
    np.fill_diagonal(alike, -2)
    assert (alike.argmax(axis=1) == np.arange(len(alike)) ^ 1).mean() > 0.85


def test_speech_is_heard_in_the_voice_and_less_in_its_pauses() -> None:
    model = real("silero")
    session = default_session(model.path)
    heard = np.array([session.run(f)["output"][0, 0] for f in model.feeds(64)])
    assert (heard > 0.5).sum() > 20
    assert heard.min() < 0.1


def test_padding_sentences_to_a_length_makes_batches() -> None:
    real("minilm")
    tokenizer = models.folder() / models.TOKENIZER
    first, *_ = texts.feeds(tokenizer, ["input_ids", "attention_mask"], batch=8, length=64)
    assert first["input_ids"].shape == first["attention_mask"].shape == (8, 64)
    assert (first["input_ids"][first["attention_mask"] == 0] == 0).all()
    assert first["attention_mask"].sum() == sum(
        f["input_ids"].size for f in texts.feeds(tokenizer, ["input_ids"], texts.SENTENCES[:8])
    )


def test_features_of_a_file_are_its_two_ends() -> None:
    row = files.features(b"  \n" + b"A" * 10 + b"B" * 2000 + b"C" * 5 + b"\n")
    assert row.shape == (1, 2048) and row.dtype == np.int32
    assert bytes(row[0, :11].astype(np.uint8)) == b"A" * 10 + b"B"
    assert bytes(row[0, -6:].astype(np.uint8)) == b"B" + b"C" * 5
    short = files.features(b"abc")
    assert short[0, :4].tolist() == [97, 98, 99, 256] and short[0, -4:].tolist() == [256, 97, 98, 99]


def test_windows_overlap_by_their_context() -> None:
    sound = speech.voice(0.5)
    first, second = list(speech.windows(sound))[:2]
    assert first.shape == (1, 576) and not first[0, :64].any()
    assert np.array_equal(second[0, :64], sound[448:512])
    assert np.array_equal(second[0, 64:], sound[512:1024])


def test_pictures_have_the_shapes_that_models_want() -> None:
    image = pictures.line("Fresh bread daily", 3)
    assert pictures.recognition(image).shape[:3] == (1, 3, 48)
    assert pictures.classification(image).shape == (1, 3, 48, 192)
    assert pictures.grey(image).shape[:3] == (1, 1, 64)
    assert pictures.detection(pictures.page((256, 320))).shape == (1, 3, 256, 320)
    assert pictures.blue_first(image, canvas=(416, 416)).shape == (1, 3, 416, 416)
    with pytest.raises(ValueError, match="multiple of 32"):
        pictures.detection(pictures.page((250, 320)))


def test_decoding_joins_repeats_and_drops_blanks() -> None:
    scores = np.eye(4)[[0, 1, 1, 0, 1, 2, 2, 3]]
    assert decode.greedy(scores, ["", "a", "b", "c"]) == "aabc"
    assert decode.characters("x\ny") == ["", "x", "y", " "]


def test_the_most_similar_two_are_found() -> None:
    assert decode.most_similar(np.array([[1.0, 0], [0, 1], [1, 0.1]]))[:2] == (0, 2)
