"""``python -m repackbench_ray``."""

import sys

from repackbench_ray import main

sys.exit(main())
