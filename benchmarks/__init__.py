"""Measures exactbpe beside its peers, on equal work and with equal answers; see `benchmarks/README.md`."""
