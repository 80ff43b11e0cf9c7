"""Makes the helpers that stand beside the tests (fake_board, scripted_port) importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
