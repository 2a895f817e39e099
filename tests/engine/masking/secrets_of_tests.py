"""Values written as credentials are, none of which is one; put together here, so that no scanner takes one for real."""

from __future__ import annotations

from typing import Final

AWS_KEY: Final = "AK" + "IA" + "FAKEFAKEFAKEFAKE"
GITHUB: Final = "gh" + "p_" + "Fake0" * 7 + "F"
GITLAB: Final = "gl" + "pat-" + "fakefake" * 3
STRIPE: Final = "sk" + "_live_" + "fake" * 6
SLACK: Final = "xo" + "xb-1234-" + "fakefake"
JWT: Final = "ey" + "JhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJmYWtlIn0" + ".ZmFrZS1zaWduYXR1cmU"
PEM: Final = "-----BEGIN " + "RSA PRIVATE KEY-----\nRkFLRQ==\nRkFLRUZBS0U=\n-----END " + "RSA PRIVATE KEY-----"
PASSWORD: Final = "not-a-real-one-7"
