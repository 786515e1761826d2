"""One cause in a config.pbtxt is one fault, in its own file and in those of the ensembles that use the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checking.test_mutations import ENSEMBLE as LARGE_ENSEMBLE
from tests.checking.test_mutations import MODEL as LARGE_MODEL
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import ensemble, io_tensor, parameter, python_model, step
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.checking.text.tokens import Kind, Token, Tokens

MODEL = python_model(
    "dynamic_batching { preferred_batch_size: [ 4, 8 ] }",
    "instance_group [ { count: 1, kind: KIND_CPU } ]",
    parameter("mode", "fast"),
)
USER = ensemble(step("model", {"X": "X"}, {"Y": "T"}), step("scale", {"X": "T"}, {"Y": "Y"}))
BATCH, DIMS = "max_batch_size: 8", "dims: [ 4 ] } ]\noutput"
DYNAMIC = "dynamic_batching { preferred_batch_size: [ 4, 8 ] }"
PARAMETER = parameter("mode", "fast")
GROUPS = "instance_group [ { count: 1, kind: KIND_CPU } ]"


def faults(tmp_path: Path, text: str = MODEL, user: str = USER) -> list[Fault]:
    """The faults of a repository with the model ``text`` and an ensemble that uses it; notes left out."""
    stage(Example(text), tmp_path, "model")
    stage(Example(user), tmp_path, "user")
    return [fault for fault in check([tmp_path]).faults if fault.severity is not Severity.NOTE]


def test_the_name_of_a_template_is_part_of_it(tmp_path: Path) -> None:
    """Otherwise a template has two faults, one of which is that its name is not its folder's."""
    named = 'name: "{{ name }}"\n' + MODEL
    (fault,) = faults(tmp_path, named.replace("max_batch_size: 8", "max_batch_size: {{ batch }}"))
    assert fault.rule == "config-template" and "{{ name }}" in fault.message
    (fault,) = faults(tmp_path, named)
    assert fault.rule == "model-name-differs-from-folder"


def test_a_comment_after_a_comma_is_no_placeholder(tmp_path: Path) -> None:
    """Otherwise a config that the server loads is taken for a template."""
    assert not faults(tmp_path, MODEL.replace("dims: [ 4 ]", "dims: [ #first, second\n4 ]"))


def test_a_placeholder_in_a_string_that_the_server_loads_is_a_warning(tmp_path: Path) -> None:
    """Otherwise check refuses what Triton loads; a chat template or a token in brackets is not even that."""
    text = MODEL.replace("fast", "/models/${name}") + parameter("chat", "{% for m in messages %}{{ m.content }}")
    (fault,) = faults(tmp_path, text + parameter("pad", "<pad>"))
    assert (fault.severity, fault.rule) == (Severity.WARNING, "config-template-in-string")


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        ('{"name": "m", "max_batch_size": 8, "input": [{"name": "X"}]}', "config-other-format", "JSON"),
        ("name: m\nbackend: python\ninput:\n  - name: X\n    dims: [4]\n", "config-other-format", "YAML"),
        ('name = "m"\n[[input]]\nname = "X"\n', "config-other-format", "TOML"),
        ("<!DOCTYPE html>\n<html></html>", "config-other-format", "HTML"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "config-other-format", "LFS"),
        ("```\n" + MODEL + "```\n", "config-other-format", "Markdown"),
        (MODEL.replace(": ", " = "), "config-syntax", "'='"),
        ("name:\nbackend:\ninput [\n {\n name:\n data_type:\n }\n ]\n", "config-syntax", "'name', 'backend' and"),
        ("name: ,\nbackend: ,\n", "config-syntax", "'name' and 'backend' have no value"),
        ("name:\ninput:\noutput:\nparameters:\n", "config-syntax", "'output' and 'parameters' have no value"),
        (MODEL.replace(":", "："), "config-syntax", "full-width colon"),
    ],
)
def test_one_cause_is_one_fault(tmp_path: Path, text: str, rule: str, words: str) -> None:
    """Otherwise people read four faults that vanish with the first, or doubt the right ones."""
    (fault,) = faults(tmp_path, text)
    assert fault.rule == rule and words in fault.message


def scalars(text: str) -> Iterator[Token]:
    """Every number and string of a config, and every name that is a value."""
    tokens = Tokens(text)
    before = ""
    while not tokens.ended:
        token = tokens.take()
        named = token.kind is Kind.NAME and before == ":" and not tokens.at(":", "{")
        if named or token.kind in (Kind.INTEGER, Kind.STRING):
            yield token
        before = token.text


@pytest.mark.parametrize("value", ["${x}", '"${x}"', "TYPE_${x}", "???", "12345678901234567890123"])
def test_any_value_may_be_unreadable(tmp_path: Path, value: str) -> None:
    """Otherwise rules conclude from what nobody can read, in this file or in those that use the model."""
    user = ensemble(step("model", {"X": "X"}, {"Y": "Y"}))
    for text in (LARGE_ENSEMBLE, LARGE_MODEL):
        faults(tmp_path, text, user)  # with the steps of the unchanged text
        for token in scalars(text):
            found = faults(tmp_path, text[: token.offset] + value + text[token.offset + len(token.text) :], user)
            assert len(found) == 1, (token, found)


def test_a_mark_that_is_missing_is_one_fault(tmp_path: Path) -> None:
    """Otherwise one forgotten bracket of an ensemble makes a dozen faults, in the steps and in the maps."""
    stage(Example(LARGE_ENSEMBLE), tmp_path, "model")
    tokens = Tokens(LARGE_ENSEMBLE)
    while not tokens.ended:
        token = tokens.take()
        if token.kind is Kind.MARK and token.text != "-":
            changed = LARGE_ENSEMBLE[: token.offset] + LARGE_ENSEMBLE[token.offset + 1 :]
            (tmp_path / "model/config.pbtxt").write_text(changed)
            found = [fault for fault in check([tmp_path]).faults if fault.severity is not Severity.NOTE]
            assert len(found) <= 1, (token, found)


def test_what_is_readable_is_still_checked(tmp_path: Path) -> None:
    """Otherwise one placeholder hides every other fault of its file."""
    reshaped = io_tensor("Z", dims="2", more="reshape { shape: [ 3 ] }")
    outputs = f"{io_tensor('Y')}, {io_tensor('W', dims='0')}, {reshaped}"
    text = python_model("instance_group [ { kind: KIND_CPU, gpus: [ 0 ] } ]", outputs=outputs)
    found = {fault.rule for fault in faults(tmp_path, text.replace("TYPE_FP32", "${type}", 1))}
    assert found == {"config-template", "tensor-dim-invalid", "reshape-size-differs", "instance-group-gpus"}


@pytest.mark.parametrize(
    ("old", "new"),
    [("instance_group [", "instance-group ["), ("data_type: TYPE_FP32, dims", "data-type: TYPE_FP32, dims")],
)
def test_a_name_with_hyphens_is_one_fault(old: str, new: str, tmp_path: Path) -> None:
    """Otherwise one habit of YAML is reported as three faults, and none of them says which field was meant."""
    (fault,) = faults(tmp_path, MODEL.replace(old, new, 1))
    assert (fault.rule, fault.cure) == ("config-unknown-field", f"did you mean '{old.split(' ')[0].strip(':')}'?")


THREE = [step("scale", {"X": "X"}, {"Y": name}) for name in ("Y", "T", "U")]


@pytest.mark.parametrize(
    ("inputs", "rule"),
    [
        (io_tensor("X", "INT32"), "ensemble-data-type-clash"),
        (io_tensor("X", dims="5"), "ensemble-shape-clash"),
        (io_tensor("X", dims="0"), "tensor-dim-invalid"),
    ],
)
def test_an_input_that_three_steps_read_is_one_fault(inputs: str, rule: str, tmp_path: Path) -> None:
    """Otherwise one wrong word is as many faults as there are steps."""
    user = ensemble(*THREE, inputs=inputs, outputs=", ".join(io_tensor(name) for name in ("Y", "T", "U")))
    assert [fault.rule for fault in faults(tmp_path, user=user)] == [rule]


@pytest.mark.parametrize(("size", "rules"), [(0, ["ensemble-batch-of-one"]), (-1, ["max-batch-size-negative"])])
def test_a_step_that_does_not_batch_is_one_fault(size: int, rules: list[str], tmp_path: Path) -> None:
    """Otherwise one number is as many warnings as the step has inputs."""
    names = ("A", "B", "C")
    inputs = ", ".join(io_tensor(name, dims="1") for name in names)
    user = ensemble(step("model", {name: name for name in names}, {"Y": "Y"}), inputs=inputs)
    found = [fault.rule for fault in faults(tmp_path, python_model(inputs=inputs, size=size), user)]
    assert [rule for rule in found if rule in ("ensemble-batch-of-one", "max-batch-size-negative")] == rules


def test_an_empty_path_of_an_environment_is_no_fault(tmp_path: Path) -> None:
    """Otherwise a model is refused that the server runs with its usual Python."""
    assert faults(tmp_path, MODEL + parameter("EXECUTION_ENV_PATH", "")) == []
