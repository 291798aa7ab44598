"""Measures exactbpe beside its peers, on equal work and with equal answers; `benchmarks/README.md` says how."""
