"""Tags, by unchanged boto3 code."""

from typing import Any

from tests.endpoint.conftest import IMAGE, Deployer, refused


def test_tags_are_kept_by_arn(deployer: Deployer, sagemaker: Any) -> None:
    container = {"Image": IMAGE, "ModelDataUrl": "s3://b/p/"}
    tags = [{"Key": "team", "Value": "vision"}]
    arn = sagemaker.create_model(ModelName="Tagged", PrimaryContainer=container, Tags=tags)["ModelArn"]
    sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "cost", "Value": "0"}, {"Key": "team", "Value": "text"}])
    assert [(tag["Key"], tag["Value"]) for tag in sagemaker.list_tags(ResourceArn=arn)["Tags"]] == [
        ("team", "text"),
        ("cost", "0"),
    ]
    sagemaker.delete_tags(ResourceArn=arn, TagKeys=["team"])
    assert [tag["Key"] for tag in sagemaker.list_tags(ResourceArn=arn)["Tags"]] == ["cost"]
    sagemaker.delete_model(ModelName="Tagged")
    assert refused(sagemaker.list_tags, ResourceArn=arn)[0] == "ValidationException"
