"""The loop: contract, policy, tools and verifiers; `react`, which says what follows, and `drive`, which writes it."""
