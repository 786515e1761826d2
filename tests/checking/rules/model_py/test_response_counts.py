"""execute returns one response for each request: what its loop appends is counted, as far as that is certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import code_faults

HEAD = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
"""
ERROR = 'responses.append(pb_utils.InferenceResponse(error=pb_utils.TritonError("it is empty")))'
ANSWER = 'responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]))'
TWICE, BRANCH, AFTER = "model-py-responses-twice", "model-py-response-after-branch", "model-py-responses-after-loop"


@pytest.mark.parametrize(
    ("loop", "after", "expected"),
    [
        ([ANSWER], [], []),
        ([ANSWER, ANSWER], [], [(TWICE, 10)]),
        (["if x.size == 0:", f"    {ERROR}", "    continue", ANSWER, ANSWER], [], [(TWICE, 13)]),
        ([ANSWER, "if x.size:", "    continue", ANSWER], [], []),
        (["if x.size == 0:", f"    {ERROR}", "else:", f"    {ANSWER}"], [], []),
        (["if x.size == 0:", f"    {ERROR}", "    continue", ANSWER], [], []),
        (["if x.size == 0:", f"    {ERROR}", ANSWER], [], [(BRANCH, 10)]),
        (["if x.size:", "    pass", "else:", f"    {ERROR}", ANSWER], [], [(BRANCH, 12)]),
        (["if x.size == 0:", f"    {ERROR}", "if x.size:", f"    {ANSWER}"], [], []),
        (["if x.size == 0:", f"    {ERROR}", "if x.size == 0:", "    continue", ANSWER], [], []),
        (["x = x + 1"], [ANSWER], [(AFTER, 10)]),
        ([ANSWER], [ANSWER], []),
        ([ANSWER, ANSWER], ["responses.pop()"], []),
        ([ANSWER, ANSWER], ["self.check(responses)"], []),
    ],
)
def test_responses_of_a_loop(loop: list[str], after: list[str], expected: list[object], tmp_path: Path) -> None:
    """Otherwise requests fail that Triton gives to the model in one call, or a model that answers is refused."""
    code = HEAD + "".join(f"            {line}\n" for line in loop) + "".join(f"        {line}\n" for line in after)
    code += "        return responses\n\n    def check(self, responses):\n        pass\n"
    assert [(fault.rule, fault.place.line) for fault in code_faults(tmp_path, code)] == expected
