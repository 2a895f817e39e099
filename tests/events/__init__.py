"""The tests of the records, their bytes, and the logs that keep them."""
