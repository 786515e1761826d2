"""Files that no environment of Python steps has."""

_STANDARD_LIBRARY = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data")

#: Globs of conda-pack (``*`` also matches ``/``) for files that no Python step uses. Byte code is left out because its
#: time stamps are wrong after unpacking; :mod:`.inspection` writes what is needed.
DEFAULT_EXCLUDE = (
    *("include/*", "man/*", "share/man/*", "share/doc/*", "share/info/*", "*.a", "*.la", "*/pkgconfig/*"),
    *("*/__pycache__/*", "lib/python3.*/config-3.*"),
    # Not "lib/python3.*", which would also be the folders of these names in packages: TensorFlow needs its own "test".
    *(f"lib/python3.{minor}/{name}/*" for minor in ("[0-9]", "[0-9][0-9]") for name in _STANDARD_LIBRARY),
    *("*/site-packages/*/tests/*", "*/site-packages/*.pyi", "*/site-packages/*.pxd", "*/site-packages/*.pyx"),
    *("*/site-packages/numpy/f2py/*", "*/site-packages/numpy/*core/include/*", "*/site-packages/numpy/distutils/*"),
    "*/site-packages/numpy/*core/_simd.*",  # only for its tests; 4 MB
    *("*/site-packages/pip/*", "*/site-packages/pip-*", "*/site-packages/setuptools/*", "*/site-packages/setuptools-*"),
    *("*/site-packages/_distutils_hack/*", "*/site-packages/distutils-precedence.pth"),
    *("*/site-packages/wheel/*", "*/site-packages/wheel-*"),
)

INSTALLER_FILES = frozenset(("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"))
"""An installer's records: the files it wrote, wrong after some are left out, and where they came from."""
