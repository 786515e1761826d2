"""How hypothesis draws: the suite has the same examples every time, ``make fuzz`` (tests/fuzz.py) has new ones."""

from hypothesis import HealthCheck, settings

# No test depends on how fast the machine is.
_ANY_MACHINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("suite", derandomize=True, **_ANY_MACHINE)
settings.register_profile("fuzz", derandomize=False, **_ANY_MACHINE)
settings.load_profile("suite")
