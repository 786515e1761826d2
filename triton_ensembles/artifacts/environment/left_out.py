"""Files that no environment of Python steps has.

The globs are conda-pack's, whose ``*`` also matches ``/``: a rule begins with the place in the prefix that it is about,
and one about files of packages names the package. What other packages bring is packed whole: scikit-image and librosa
read their ``.pyi`` when they are imported, astropy its ``tests``, and OpenCV has a ``config-3.py``.
"""

_PYTHONS = ("lib/python3.[0-9]", "lib/python3.[0-9][0-9]")
_STANDARD_LIBRARY = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data")
_SITE = "*/site-packages"
# Large packages, whose tests, type stubs and Cython sources nothing reads at run time.
_TESTED = (
    "numpy",
    "scipy",
    "pandas",
    "sklearn",
    "statsmodels",
    "matplotlib",
    "pyarrow",
    "networkx",
    "numba",
    "sympy",
    "mpmath",
)
_TYPED = ("numpy", "scipy", "pandas", "sklearn", "torch", "tokenizers", "onnx", "cv2", "google/protobuf")

#: For all environments. Byte code is left out because its time stamps are wrong after unpacking; :mod:`.inspection`
#: writes what is needed.
DEFAULT_EXCLUDE = (
    "*/__pycache__/*",
    *(f"{_SITE}/{name}/{folder}/*" for name in _TESTED for folder in ("tests", "*/tests")),
    *(f"{_SITE}/{name}/*.{suffix}" for name in _TYPED for suffix in ("pyi", "pxd", "pyx")),
    *(f"{_SITE}/numpy/{glob}" for glob in ("f2py/*", "*core/include/*", "*core/lib/*", "distutils/*")),
    f"{_SITE}/numpy/*core/_simd.*",  # only for its tests; 4 MB
)

#: For a prefix, besides: what is for compiling, and the tools that installed the packages.
OF_A_PREFIX = (
    *("include/*", "man/*", "share/man/*", "share/doc/*", "share/info/*", "lib/pkgconfig/*", "share/pkgconfig/*"),
    *("lib/*.a", "lib/*.la"),
    *(f"{python}/config-3.*" for python in _PYTHONS),
    *(f"{python}/{name}/*" for python in _PYTHONS for name in _STANDARD_LIBRARY),
    *(f"{_SITE}/{tool}{rest}" for tool in ("pip", "setuptools", "wheel") for rest in ("/*", "-*")),
    *(f"{_SITE}/_distutils_hack/*", f"{_SITE}/distutils-precedence.pth"),
)

INSTALLER_FILES = frozenset(("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"))
"""An installer's records: the files it wrote, wrong after some are left out, and where they came from."""
