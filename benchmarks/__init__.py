"""What things cost, as ratios within one run against the raw limit: `python -m benchmarks`."""
