"""What follows from what just happened, and the one door to the outside."""
