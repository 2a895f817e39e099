"""The projections' tests."""
