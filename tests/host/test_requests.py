"""Requests by name, of an unmodified tritonclient and of curl."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from tests.ensembles.clients import infer
from tests.host.conftest import Hosted
from tests.hosting import archives
from tests.processes import wait_until


def test_archives_and_models_answer_by_their_names(shared: Hosted) -> None:
    """Otherwise one archive's steps answer for another's of the same names."""
    assert shared.infer("times2", 1, 2) == [4, 6]
    assert shared.infer("times3", 1, 2) == [6, 9]
    assert shared.infer("plain", 1) == [10]
    assert shared.infer("pipe", 1) == [100]
    assert shared.infer("times2", 5, model_version="1") == [12]
    status, answer = shared.ask("POST", "/v2/models/times2/infer", archives.body(1.0))  # JSON, as curl sends it
    assert (status, answer["model_name"], answer["outputs"][0]["data"]) == (200, "times2", [4.0])


def test_what_a_client_sends_and_asks_for_arrives(shared: Hosted) -> None:
    """Otherwise ids, compression, binary tensors or large answers are lost on the way."""
    tensor = http.InferInput("X", [300_000], "FP32")
    numbers = np.arange(300_000, dtype=np.float32)
    tensor.set_data_from_numpy(numbers)
    with shared.client() as client:
        for binary in (True, False):
            output = http.InferRequestedOutput("Y", binary_data=binary)
            answer = client.infer(
                "plain", [tensor], request_id='a"b\\c', outputs=[output], request_compression_algorithm="gzip"
            )
            assert (answer.as_numpy("Y") == numbers * 10).all()
            assert answer.get_response()["id"] == 'a"b\\c'
            assert answer.get_response()["model_name"] == "plain"


def test_models_are_described_under_their_names(shared: Hosted) -> None:
    with shared.client() as client:
        assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("times2")
        assert client.get_model_metadata("times2")["inputs"] == [{"name": "X", "datatype": "FP32", "shape": [-1]}]
        assert client.get_model_metadata("times2")["name"] == client.get_model_config("times2")["name"] == "times2"
        shared.infer("times2", 1)
        (stats,) = client.get_inference_statistics("times2")["model_stats"]
        assert stats["name"] == "times2" and stats["inference_count"] >= 1
        assert "times2" in {model["name"] for model in client.get_inference_statistics()["model_stats"]}
        assert "model_repository" in client.get_server_metadata()["extensions"]
    assert shared.ask("HEAD", "/v2/models/times2") == (200, "")


def test_clients_load_and_unload(shared: Hosted) -> None:
    """Otherwise nobody can warm a model up before its first user comes."""
    shared.put("warm", archives.model())
    with shared.client() as client:
        client.load_model("warm")
        assert shared.state("warm") == "READY"
        client.unload_model("warm")
        assert shared.state("warm") == "UNAVAILABLE"
        assert shared.infer("warm", 7) == [7]
        with pytest.raises(InferenceServerException, match="takes no config and no files"):
            client.load_model("warm", config="{}")


def test_an_unknown_name_gets_the_nearest_one(shared: Hosted) -> None:
    assert "did you mean 'times2'" in shared.error("time2", 404)
    (shared.models / "bare" / "1").mkdir(parents=True)
    shared.put("not a name", archives.model())
    wait_until(lambda: shared.state("not a name"))
    assert "rename it" in shared.error("not%20a%20name", 404)
    assert "it has no config.pbtxt" in shared.error("bare", 404)
    archives.written(archives.model("times2"), shared.models)
    wait_until(
        lambda: shared.state("times2") == "READY" and "rename one" in str(shared.ask("POST", "/v2/repository/index"))
    )
    assert shared.infer("times2", 1) == [4]


def test_one_that_does_not_load_fails_alone_until_it_is_mended(shared: Hosted) -> None:
    """Otherwise each request for it costs a load, or a corrected archive is never tried."""
    shared.put("broken", archives.model(initialize="raise ValueError('no vocabulary')"))
    shared.put("junk", b"no gzip")
    assert "no vocabulary" in shared.error("broken", 500)
    loads = shared.metric("host_misses_total")
    assert "broken': broken: Internal: ValueError: no vocabulary" in shared.error("broken", 500)
    assert shared.metric("host_misses_total") == loads
    assert "not a gzip file" in shared.error("junk", 500)
    assert shared.infer("times2", 1) == [4]
    shared.put("broken", archives.model())
    wait_until(lambda: shared.ask("POST", "/v2/models/broken/infer", archives.body(3.0))[0] == 200)


def test_a_changed_archive_is_swapped_without_a_lost_request(shared: Hosted) -> None:
    """Otherwise whoever asks during an update gets an error, or waits for a load."""
    shared.put("moving", archives.model(execute="x = x + 1"))
    assert shared.infer("moving", 1) == [2]
    stopped, answers = threading.Event(), []

    def ask() -> None:
        with shared.client() as client:
            while not stopped.is_set():
                answers.append(float(infer(client, "moving", {"X": np.ones(1, np.float32)})["Y"][0]))

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(4)]
        shared.put(
            "moving", archives.model(execute="raise ValueError('unfinished')", initialize="raise ValueError('half')")
        )
        wait_until(lambda: any("the old one stays" in line for line in shared.lines))
        shared.put("moving", archives.model(execute="x = x + 2"))
        wait_until(lambda: answers and answers[-1] == 3.0)
        stopped.set()
        for each in asking:
            each.result()
    assert answers == sorted(answers) and set(answers) == {2.0, 3.0}


def test_new_and_deleted_archives_are_noticed(shared: Hosted) -> None:
    shared.put("short", archives.model())
    assert shared.infer("short", 1) == [1]  # at once
    (shared.models / "short.tar.gz").unlink()
    wait_until(lambda: shared.ask("POST", "/v2/models/short/infer", archives.body(1.0))[0] == 404)


def test_errors_of_models_and_requests_are_tritons(shared: Hosted) -> None:
    shared.put("refuses", archives.model(execute="raise ValueError('too long')"))
    assert "too long" in shared.error("refuses", 500)
    status, answer = shared.ask("POST", "/v2/models/times2/infer", b"{")
    assert status in (400, 500) and "parse" in answer["error"]
    assert "version 9" in shared.ask("GET", "/v2/models/times2/versions/9")[1]["error"]
    assert shared.ask("GET", "/v2/models/times2/infer")[0] == 405
    assert shared.ask("GET", "/v1/models")[0] == shared.ask("GET", "/v2/models/times2/generate")[0] == 404


def test_the_page_shows_what_is_loaded_and_what_failed(shared: Hosted) -> None:
    """Otherwise whoever is called at night reads metrics by eye."""
    shared.put("hopeless", archives.model(initialize="raise ValueError('<no> vocabulary')"))
    shared.error("hopeless", 500)
    shared.infer("times2", 1)
    status, html = shared.ask("GET", "/")
    assert status == 200 and "&lt;no&gt; vocabulary" in html and "<no>" not in html
    row = html[html.index("<td>times2<") :]
    assert "READY" in row[:200]
