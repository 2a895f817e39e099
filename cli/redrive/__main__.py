"""`python -m redrive` is the `redrive` command."""

import sys

from redrive.command import main

sys.exit(main())
