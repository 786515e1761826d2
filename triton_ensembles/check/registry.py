"""All the rules, in the order of docs/rules.md."""

from __future__ import annotations

from triton_ensembles.check.rule import Rule
from triton_ensembles.check.rules import (
    batch_io,
    batching,
    config_release,
    config_text,
    endpoint,
    ensemble_fields,
    ensemble_flow,
    ensemble_models,
    ensemble_tensors,
    environment_content,
    environment_imports,
    environment_path,
    extras,
    image,
    image_artifacts,
    instances,
    model_py,
    model_py_habits,
    model_py_tensors,
    platform,
    reading,
    repository,
    sagemaker_layout,
    sagemaker_members,
    sagemaker_models,
    sequence_state,
    sequences,
    tensors,
    warmup,
)

# (heading, rules): group 1 of issue 3 first, then SageMaker, endpoints, environments, images and model.py.
GROUPS: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("What cannot be read", reading.RULES),
    ("The text of config.pbtxt", (*config_text.RULES, *config_release.RULES)),
    ("Folders and files", repository.RULES),
    ("Platform and backend", platform.RULES),
    ("Inputs and outputs", (*tensors.RULES, *batch_io.RULES)),
    ("Batching", batching.RULES),
    ("Sequences", (*sequences.RULES, *sequence_state.RULES)),
    ("Instances", instances.RULES),
    ("Warm-up", warmup.RULES),
    ("Labels, tags and parameters", extras.RULES),
    ("Ensembles: fields", ensemble_fields.RULES),
    ("Ensembles: the flow of tensors", ensemble_flow.RULES),
    ("Ensembles: steps and their models", (*ensemble_models.RULES, *ensemble_tensors.RULES)),
    ("SageMaker: the archive", (*sagemaker_layout.RULES, *sagemaker_members.RULES)),
    ("SageMaker: the models", sagemaker_models.RULES),
    ("Several archives of one endpoint", endpoint.RULES),
    ("Python environments", (*environment_path.RULES, *environment_content.RULES, *environment_imports.RULES)),
    ("Image and instance", (*image.RULES, *image_artifacts.RULES)),
    ("model.py", (*model_py.RULES, *model_py_tensors.RULES, *model_py_habits.RULES)),
)
RULES: tuple[Rule, ...] = tuple(rule for _, rules in GROUPS for rule in rules)
