"""Where protobuf's readers differ, the reader of config.pbtxt agrees with the real server."""

from __future__ import annotations

import pytest

from tests.checking.served import LoadResult, server_results
from triton_ensembles.checking.config_file import ConfigFile
from triton_ensembles.checking.examples import SCALE, ensemble, python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.text.parsed import HARMLESS

BASE = ensemble(SCALE)
STRING = 'parameters {{ key: "k", value {{ string_value: "{}" }} }}\n'
TEXTS = {
    "byte-order-mark": "\ufeff" + BASE,
    "no-break-space": BASE.replace("max_batch_size: 8", "max_batch_size:\u00a08"),
    "latin-1-comment": BASE + "# caf\udce9\n",
    "latin-1-string": BASE + STRING.format("caf\udce9"),
    "plus-sign": BASE.replace(": 8", ": +8"),
    "underscore": BASE.replace(": 8", ": 1_0"),
    "hexadecimal": BASE.replace(": 8", ": 0x8"),
    "octal": BASE.replace(": 8", ": 010"),
    "octal-with-8": BASE.replace(": 8", ": 08"),
    "float-for-integer": BASE.replace(": 8", ": 8.0"),
    "space-after-minus": BASE.replace("model_version: -1", "model_version: - 1"),
    "trailing-comma": BASE.replace("dims: [ 4 ]", "dims: [ 4, ]"),
    "empty-list": BASE + "instance_group [ ]\n",
    "single-quotes": BASE.replace('"scale"', "'scale'"),
    "two-strings": BASE.replace('"scale"', '"sca" "le"'),
    "enum-as-number": BASE.replace("TYPE_FP32", "11"),
    "enum-as-text": BASE.replace("TYPE_FP32", '"TYPE_FP32"'),
    "zero-twice": "max_batch_size: 0\n" + BASE,
    "twice": "max_batch_size: 8\n" + BASE,
    "message-twice": BASE + "version_policy { }\nversion_policy { }\n",
    "map-key-twice": BASE + STRING.format("a") + STRING.format("b"),
    "true-in-capitals": BASE.replace("dims: [ 4 ]", "dims: [ 4 ], optional: TRUE", 1),
    "true-with-capital": BASE.replace("dims: [ 4 ]", "dims: [ 4 ], optional: True", 1),
    "one-for-true": BASE.replace("dims: [ 4 ]", "dims: [ 4 ], optional: 1", 1),
    "two-for-true": BASE.replace("dims: [ 4 ]", "dims: [ 4 ], optional: 2", 1),
    "semicolons": BASE.replace(": 8\n", ": 8;\n"),
    "two-commas": BASE.replace(": 8\n", ": 8,,\n"),
    "number-then-name": BASE.replace(": 8\n", ": 8"),
    "slashes": "// comment\n" + BASE,
    "unknown-escape": BASE + STRING.format("\\q"),
    "escapes": BASE + STRING.format("\\n\\x41\\101\\u00e9\\?"),
    "escape-no-utf8": BASE + STRING.format("\\xff"),
    "escape-no-character": BASE + STRING.format("\\U00110000"),
    "tab-in-string": BASE + STRING.format("a\tb"),
    "line-break-in-string": BASE + STRING.format("a\nb"),
    "no-colon-before-list": BASE.replace("dims: [", "dims ["),
    "no-colon-before-message": BASE.replace("input [", "input: ["),
    "angle-brackets": BASE.replace("input [ {", "input [ <", 1).replace("} ]", "> ]", 1),
    "carriage-returns": BASE.replace("\n", "\r\n"),
    "extension": BASE + "[foo.bar]: 1\n",
    "control-character": BASE + "\x01",
    "form-feed": BASE + "\x0c",
    "nothing-nul": BASE + "\0",
    "comment-like-a-template": BASE + "parameters {# of one #}\n" + 'key: "p" value { string_value: "v" } }\n',
    "quote-in-a-comment": BASE.replace('platform: "ensemble"', 'platform: "ensemble" # 5"'),
    "placeholder": BASE.replace(": 8", ": ${x}"),
    "placeholder-in-string": BASE + STRING.format("${x}"),
    "placeholder-in-tensor": BASE.replace('name: "X"', 'name: "${x}"').replace('value: "X"', 'value: "${x}"'),
    "placeholder-that-nobody-asks-for": BASE + 'default_model_filename: "${x}" runtime: "${x}"\n',
    "platform-beside-a-backend": python_model() + 'platform: "${x}"\n',
    "runtime-that-is-asked-for": python_model() + 'runtime: "${x}"\n',
    "chat-template": BASE + STRING.format("{% for m in messages %}{{ m }}{% endfor %}"),
    "line-of-dashes": "# ---\n" + BASE,
    "full-width-colon": BASE.replace("max_batch_size:", "max_batch_size："),
    "full-width-in-text": BASE + STRING.format("a：b") + "# （…）\n",
    "equals-signs": BASE.replace("max_batch_size:", "max_batch_size ="),
    "map-like-json": BASE.replace('input_map { key: "X", value: "X" }', 'input_map { "X": "X" }'),
    "quoted-names": BASE.replace("name: ", '"name": '),
    "value-on-the-next-line": BASE.replace(": 8", ":\n\n8"),
    "no-value": BASE.replace(": 8", ":"),
    "names-of-other-formats": BASE.replace("TYPE_FP32", "TYPE_FLOAT"),
    "too-large-a-number": BASE.replace(": 8", ": 3000000000"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LoadResult]:
    return server_results({name: Example(text) for name, text in TEXTS.items()}, tmp_path_factory.mktemp("texts"))


@pytest.mark.verdicts
@pytest.mark.parametrize("name", TEXTS)
def test_the_server_reads_it_too(name: str, results: dict[str, LoadResult]) -> None:
    """Otherwise the checker and Triton disagree on what is a config.pbtxt."""
    text = TEXTS[name].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    faults = [fault for fault in ConfigFile("config.pbtxt", text).faults if fault.rule not in HARMLESS]
    assert results[name].loaded == (not faults), (faults, results[name].words)
