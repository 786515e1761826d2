"""What no environment has: a rule is about a place in a prefix, or names a package."""

from fnmatch import fnmatch

import pytest

from triton_ensembles.artifacts.environment.left_out import DEFAULT_EXCLUDE, OF_A_PREFIX

SITE = "lib/python3.10/site-packages"


@pytest.mark.parametrize(
    ("path", "packed"),
    [
        ("lib/python3.10/config-3.10-x86_64-linux-gnu/Makefile", False),
        ("lib/python3.10/test/test_os.py", False),
        ("lib/libpython3.10.a", False),
        ("include/python3.10/Python.h", False),
        (f"{SITE}/pip/_internal/main.py", False),
        (f"{SITE}/numpy/core/tests/test_api.py", False),
        (f"{SITE}/pandas/_libs/algos.pyi", False),
        (f"{SITE}/pandas/__pycache__/x.cpython-310.pyc", False),
        (f"{SITE}/cv2/config-3.py", True),  # which OpenCV reads to find its library
        (f"{SITE}/skimage/filters/__init__.pyi", True),  # which lazy_loader reads
        (f"{SITE}/librosa/util/__init__.pyi", True),
        (f"{SITE}/astropy/tests/runner.py", True),  # which its __init__ imports
        (f"{SITE}/tensorflow/python/framework/test/x.py", True),
        (f"{SITE}/sklearn/datasets/include/x.csv", True),
        (f"{SITE}/pipeline/main.py", True),
    ],
)
def test_nothing_is_left_out_that_a_package_may_read(path: str, packed: bool) -> None:
    assert any(fnmatch(path, glob) for glob in (*DEFAULT_EXCLUDE, *OF_A_PREFIX)) != packed
