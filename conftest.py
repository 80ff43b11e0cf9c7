"""How hypothesis searches: the same examples in every run, and no verdict by the clock.

`pytest --hypothesis-profile=explore` looks for new examples.
"""

from hypothesis import HealthCheck, settings

WITHOUT_CLOCK = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, **WITHOUT_CLOCK)
settings.register_profile("explore", max_examples=1000, **WITHOUT_CLOCK)
settings.load_profile("repeatable")
