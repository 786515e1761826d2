"""Requests against botocore's service model, whatever is in them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.endpoint.api.errors import SerializationException, ValidationException
from triton_ensembles.endpoint.api.validation import operation_model, string_faults, validate

OPERATIONS = ["CreateModel", "CreateEndpointConfig", "CreateEndpoint", "ListEndpoints", "AddTags"]


def shape(operation: str, service: str = "sagemaker") -> Any:
    model = operation_model(service, operation)
    assert model is not None
    return model.input_shape


SHAPES = {operation: shape(operation) for operation in OPERATIONS}  # read before hypothesis looks at the clock
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An operation with some of its members, each any JSON."""
    operation = draw(st.sampled_from(OPERATIONS))
    names = draw(st.lists(st.sampled_from(sorted(SHAPES[operation].members)), unique=True, max_size=4))
    return operation, {name: draw(JSON) for name in names}


@given(requests())
def test_every_request_is_valid_or_gets_one_of_awss_errors(request_: tuple[str, dict[str, Any]]) -> None:
    operation, members = request_
    try:
        validate(SHAPES[operation], members)
    except (SerializationException, ValidationException) as error:
        assert error.message


@given(st.text(alphabet="a-", max_size=70), st.text(max_size=5))
def test_names_are_checked_quickly(start: str, end: str) -> None:
    """Nested repetition in AWS's patterns must not take minutes on a name that almost fits."""
    list(string_faults(SHAPES["CreateEndpoint"].members["EndpointName"].metadata, start + end, "endpointName"))


def test_printable_means_ascii_as_in_java() -> None:
    metadata = shape("InvokeEndpoint", "sagemaker-runtime").members["TargetModel"].metadata
    assert not list(string_faults(metadata, "team/two v1.tar.gz", "targetModel"))
    for bad in ("aé.tar.gz", " leading", "tab\tin", "line\n"):
        assert list(string_faults(metadata, bad, "targetModel")), bad
