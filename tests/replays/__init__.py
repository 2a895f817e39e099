"""The replays' tests."""
