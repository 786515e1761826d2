"""Limits of SageMaker on requests and models' names, and how Triton's front end for it reads an archive."""

import re

# server r24.10 src/sagemaker_server.cc SageMakerMMELoadModel: RE2::PartialMatch of platform:(\s)*"ensemble" on the text
# of config.pbtxt, so comments and strings also count. RE2's \s is exactly these five characters: protobuf also skips a
# vertical tab, and Python's \s matches Unicode spaces; the front end sees neither (measured on 2.51.0).
ENSEMBLE = re.compile(r'platform:[\t\n\f\r ]*"ensemble"')

# botocore 1.44.5 sagemaker-runtime service-2.json TargetModelHeader: 1 to 1024, \A\S[\p{Print}]*\z
LONGEST_TARGET_MODEL = 1024
TARGET_MODEL = re.compile(rf"[!-~][ -~]{{0,{LONGEST_TARGET_MODEL - 1}}}")

# Triton 2.51.0 starts the stub of a single Python model by a shell command that contains TargetModel; since 25.08 it
# refuses these characters itself (python_backend stub_launcher.cc: "Invalid stub name").
SHELL_CHARACTERS = re.compile(r"""[;|&$`<>()\[\]{}\\"'*?~#!]""")

LARGEST_BODY = 6 * 1024 * 1024  # bytes: botocore 1.44.5 sagemaker-runtime BodyBlob, and AWS's page of quotas
INVOKE_SECONDS = 60.0
"""The time that InvokeEndpoint waits for a model (then ModelNotReadyException), and for its container."""
