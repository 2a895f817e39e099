"""Effects against an authority in another process, while workers are killed, frozen, thawed and not answered."""
