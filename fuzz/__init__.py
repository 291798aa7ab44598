"""Long-running comparison of the package with slow and simple programs: ``python -m fuzz --help``."""
