"""The command ``upload``."""

from pathlib import Path

from tests.commands.conftest import Run
from triton_ensembles.commands.undeploy import undeploy
from triton_ensembles.commands.upload import upload
from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.stored import stored_archives


def test_the_bucket_is_named_after_the_account(run: Run, aws: Aws, archive: Archive) -> None:
    """The names of buckets are unique in the world: a fixed one would belong to the first user."""
    assert run(upload, archive.path).exit_code == 0
    (bucket,) = aws.s3.list_buckets()["Buckets"]
    assert bucket["Name"] == "triton-ensembles-eu-central-1-123456789012"
    assert run(undeploy).exit_code == 0
    assert aws.s3.list_buckets()["Buckets"] == []


def test_archives_of_no_ensemble_are_left_out(run: Run, aws: Aws, archive: Archive, tmp_path: Path) -> None:
    """Otherwise what a deleted or renamed ensemble has left in dist/ would block the upload, or be served."""
    project = tmp_path / "project"
    (project / "ensembles" / "echo").mkdir(parents=True)
    (project / "ensembles" / "echo" / "ensemble.toml").touch()
    dist = project / "dist" / "cpu"
    dist.mkdir(parents=True)
    archive.path.rename(dist / "echo.tar.gz")
    (dist / "stale.tar.gz").write_bytes(b"not an archive")

    result = run(upload, "--bucket", "some-bucket", project=project)
    assert result.exit_code == 0, f"{result.output}{result.exception}"
    assert "note: left out, as no ensemble here makes them: " in result.output
    assert "dist/cpu/stale.tar.gz; name them to include them" in result.output
    stored = stored_archives(aws, S3Prefix("some-bucket", "triton-ensembles"))
    assert list(stored) == [archive.key]

    named = run(upload, dist / "stale.tar.gz", "--bucket", "some-bucket", project=project)
    assert "stale.tar.gz: this file cannot be read as an archive" in str(named.exception)
