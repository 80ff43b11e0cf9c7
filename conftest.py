"""How hypothesis searches: the same examples in every run, and no verdict by the clock.

`pytest --hypothesis-profile=explore` looks for new examples.
"""

import os
import signal

# A shell that runs the tests in the background has them ignore Ctrl-C, and so would the programs they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Before numpy comes in: the matrices here are small, and threads that wait for each other cost more than they bring.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings  # noqa: E402 - what is set above must come first

WITHOUT_CLOCK = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, **WITHOUT_CLOCK)
settings.register_profile("explore", max_examples=1000, **WITHOUT_CLOCK)
settings.load_profile("repeatable")
