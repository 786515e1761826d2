"""Variants of digits, each with a network of its own: what is written, what is refused, and what is left alone."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from pipelines.train_digits import MODEL
from tests.building.variants.conftest import Variants
from tests.files import packed_files
from tests.places import built_by
from triton_ensembles.building.places import Places
from triton_ensembles.building.variants.table import read_table
from triton_ensembles.building.variants.written import write_variants
from triton_ensembles.checking.checker import check
from triton_ensembles.ground.files import file_digest
from triton_ensembles.triton.model_config import parse_config
from triton_ensembles.triton.targets import fused

Networks = Callable[[int], bytes]
GZIP_MEMBER = b"\x1f\x8b\x08\0\0\0\0\0"  # how each begins in our archives: deflate, no name, no time (RFC 1952, 2.3.1)


def reshaped(network: bytes, name: str, *dims: int | str) -> bytes:
    """The network, whose input or output is declared in another shape."""
    model = onnx.load_from_string(network)
    (tensor,) = (each for each in (*model.graph.input, *model.graph.output) if each.name == name)
    del tensor.type.tensor_type.shape.dim[:]
    for dim in dims:
        tensor.type.tensor_type.shape.dim.add(**{"dim_param" if isinstance(dim, str) else "dim_value": dim})
    content: bytes = model.SerializeToString()
    return content


def test_a_broken_variant_is_named_with_its_line_and_does_not_stop_the_others(
    variants: Variants, networks: Networks
) -> None:
    good = networks(1)
    variants.add("good", good)
    variants.add("wide", reshaped(good, "SCORES", "batch", 9))
    variants.add("square", reshaped(good, "INK", "batch", 16, 16))
    variants.add("noise", b"\x00\x01 not a model")
    variants.add("pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    variants.add("nothing", b"")
    variants.add("misspelled", good, inner="netwrk/1/model.onnx")
    variants.add("second_version", good, inner="network/2/model.onnx")
    variants.add("config", b"", inner="network/config.pbtxt")
    variants.add("manifest", b"{}", inner="manifest.json")
    variants.add("no_folder")
    (variants.folder / "weights" / "empty").mkdir()
    variants.add("empty")
    variants.rows += ["url,https://example.com/", "bucket,s3://models/v1/a"]
    variants.rows += ["twice,weights/good", "twice,weights/good"]
    variants.rows += [f"long,weights/{'x' * 5000}"]
    (variants.folder / "weights" / "linked").mkdir()
    (variants.folder / "weights" / "linked" / "network").symlink_to(variants.folder / "weights" / "good" / "network")
    variants.add("linked")
    variants.add("pipe", good)
    os.mkfifo(variants.folder / "weights" / "pipe" / "fifo")
    variants.add("code", b"import numpy\nclass TritonPythonModel:\n    pass\n", inner="preprocess/1/model.py")
    variants.rows += [f"{variants.archive.name.removesuffix('.tar.gz')},weights/good"]
    variants.add("last", networks(2))
    result = variants.clone("--format", "json")
    assert result.exit_code == 1
    assert "clones have faults and were not written" in result.stderr.splitlines()[-1]
    faults = {each["name"]: each["error"] for each in json.loads(result.stdout)["failed"]}
    for name, words in {
        "wide": "SCORES",
        "square": "INK",
        "noise": "it is not an ONNX model",
        "pointer": "git lfs pull",
        "nothing": "it is empty",
        "misspelled": "no file 'netwrk/1/model.onnx'; did you mean network/1/model.onnx",
        "second_version": "no file 'network/2/model.onnx'; did you mean network/1/model.onnx",
        "config": "cannot have a config.pbtxt of its own",
        "manifest": "'manifest.json' is written by clone",
        "no_folder": "there is no folder 'weights/no_folder'",
        "empty": "there is no file in 'weights/empty'",
        "url": "there is no folder 'https://example.com/'",
        "bucket": "copy them first (aws s3 sync s3://models/v1/a FOLDER)",
        "twice": "is also the name in line",
        "pipe": "this is not a file",
        "long": "File name too long",
        "linked": "this is a link to a folder",
        "code": "TritonPythonModel has no method execute",
    }.items():
        assert words in faults[name], faults[name]
    assert f"{variants.folder / 'variants.csv'}:3: error: check finds faults in it" in result.stderr
    assert variants.archives().keys() == {"good", "digits", "last"}
    assert not check(sorted(variants.output.glob("*.tar.gz"))).errors
    assert not [path for path in variants.output.iterdir() if "partial" in path.name]


@pytest.mark.slow
def test_rows_of_a_fused_archive_pass_the_same_checks_and_share_what_is_equal(
    variants: Variants, networks: Networks, places: Places, tmp_path: Path
) -> None:
    """Otherwise a tenant whose network has another shape is found by the endpoint, when it loads it."""
    of_fused = Variants(built_by(places, "digits", fused()).archive, tmp_path / "fused")
    good, step = networks(1), "preprocess/1/model.py"
    for form in (variants, of_fused):
        form.add("good", good)
        form.add("other", networks(2))
        form.add("wide", reshaped(good, "SCORES", "batch", 9))
        form.add("half", good[: len(good) // 2])
        form.add("config", b"", inner="network/config.pbtxt")
        form.add("syntax", b"def x(:", inner=step)
        form.add("no_execute", b"class TritonPythonModel:\n    pass\n", inner=step)
        form.add(
            "imports",
            b"import nonsuch\n\n\nclass TritonPythonModel:\n    def execute(self, requests): ...\n",
            inner=step,
        )
    rules = [
        {fault["name"]: re.findall(r"error\[([\w-]+)\]", fault["error"]) for fault in form.cloned()["failed"]}
        for form in (variants, of_fused)
    ]
    assert rules[0] == rules[1] and rules[0].keys() == {"wide", "half", "config", "syntax", "no_execute", "imports"}
    archives = [(of_fused.output / f"{name}.tar.gz").read_bytes() for name in ("good", "other")]
    one, other = (set(archive.split(GZIP_MEMBER)) for archive in archives)
    assert sum(map(len, one & other)) > 0.9 * sum(map(len, one))


def test_only_what_has_changed_is_written_again(variants: Variants, networks: Networks) -> None:
    for number in range(4):
        variants.add(f"v_{number}", networks(number))
    assert variants.cloned()["written"] == 4
    before, digests = variants.archives(), {path: file_digest(path) for path in variants.output.glob("*.tar.gz")}
    assert variants.cloned()["written"] == 0
    variants.write("v_2", networks(9))
    done = variants.cloned()
    assert (done["archives"], done["written"], done["failed"]) == (4, 1, [])
    assert {name for name, time in variants.archives().items() if time != before[name]} == {"v_2"}
    (variants.output / "v_1.tar.gz").write_bytes(b"")  # by whom ever
    variants.write("v_2", networks(2))
    assert variants.cloned()["written"] == 2
    assert {path: file_digest(path) for path in variants.output.glob("*.tar.gz")} == digests


def test_the_manifest_says_what_is_in_it(variants: Variants, networks: Networks) -> None:
    variants.add("a", networks(1))
    assert variants.clone().exit_code == 0
    files = packed_files(variants.output / "a.tar.gz")
    manifest = json.loads(files["manifest.json"])
    record = manifest["artifacts"][MODEL]
    assert files[f"a.{MODEL}"] == networks(1)
    assert (manifest["ensemble"], manifest["clone_of"], manifest["weights"]) == ("a", "digits", "provided")
    assert record["size"] == len(networks(1))
    assert record["sha256"] == file_digest(variants.folder / "weights" / "a" / MODEL)


def test_parameters_are_columns(variants: Variants, networks: Networks) -> None:
    variants.add("both", networks(1), more=",3")
    variants.rows += ["alone,,2"]
    variants.add("neither", networks(2), more=",")
    assert variants.clone(header="name,files,network.intra_op_thread_count").exit_code == 0
    found = {}
    for name in variants.archives():
        text = packed_files(variants.output / f"{name}.tar.gz")[f"{name}.network/config.pbtxt"].decode()
        found[name] = parse_config(text, "config.pbtxt").parameters["intra_op_thread_count"].string_value
    assert found == {"both": "3", "alone": "2", "neither": "1"}
    refused = variants.clone(header="name,files,netwrk.intra_op_thread_count")
    assert "did you mean network.intra_op_thread_count" in refused.stderr


def test_what_is_complete_stays_when_it_is_stopped(variants: Variants, networks: Networks) -> None:
    """By Ctrl-C: nothing is half written, and the next run goes on from there."""
    for number in range(3):
        variants.add(f"v_{number}", networks(number))
    variants.clone("--quiet")
    for path in variants.output.iterdir():
        path.unlink()
    table = read_table(variants.folder / "variants.csv")
    running = write_variants(variants.archive, table, variants.output, lambda _: None)
    next(running)
    with pytest.raises(KeyboardInterrupt):
        running.throw(KeyboardInterrupt())
    assert [path.name for path in sorted(variants.output.iterdir())] == [".digits.variants.json", "v_0.tar.gz"]
    done = variants.cloned()
    assert (done["archives"], done["written"]) == (3, 2)
