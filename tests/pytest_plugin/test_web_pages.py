"""The servers of a project's tests, tried by a foreign web page while the tests run."""

import sys
from pathlib import Path

from tests.processes import wait_until
from tests.running import running
from tests.web_pages.test_ports import Walk

_CODE = """
import time
from pathlib import Path

def test_servers(triton_server, sagemaker_endpoint):
    server = triton_server("ensembles/chain")
    sagemaker_endpoint.deploy("ensembles/chain", name="e")
    Path("urls").write_text(f"{server.http_url} {server.grpc_url} {server.metrics_url}")
    Path("urls").rename("ports")
    while not Path("walked").exists():
        time.sleep(0.05)
"""


def test_the_fixtures_of_the_plugin_answer_no_page(project: Path) -> None:
    """Otherwise a tab that is open beside a run of tests loads models into its servers."""
    (project / "test_servers.py").write_text(_CODE)
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_servers.py")
    with running(sys.executable, *words, cwd=project) as process:
        wait_until(lambda: process.poll() is not None or (project / "ports").exists())
        assert process.poll() is None, process.communicate()
        public = frozenset(int(url.rpartition(":")[2]) for url in (project / "ports").read_text().split())
        walk = Walk(process.pid, project, public)
        walk.look()
        (project / "walked").touch()
        assert process.wait(300) == 0, process.communicate()
    assert public < walk.walked and len(walk.walked) == 5  # the endpoint's, and S3's behind it
