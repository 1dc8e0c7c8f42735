"""`python -m lend` is the `lend` command."""

from lend.cli import main

raise SystemExit(main())
