"""Signatures by Ed25519, with keys in PEM files as OpenSSL makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redrive_events import BadInput, Checker, Signer


def signer(path: Path) -> Signer:
    """What signs with the private key in a file.

    Raises:
        BadInput: there is no such key in it.
    """
    with _keys(path, "no private key in PEM, without a password, for Ed25519"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        key = load_pem_private_key(path.read_bytes(), password=None)
        if isinstance(key, Ed25519PrivateKey):
            return key.sign
        raise ValueError("another kind of key")


def checker(path: Path) -> Checker:
    """What tells whether a signature is one by the owner of the public key in a file.

    Raises:
        BadInput: there is no such key in it.
    """
    with _keys(path, "no public key in PEM for Ed25519"):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        key = load_pem_public_key(path.read_bytes())
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError("another kind of key")

    def check(digest: bytes, signature: bytes) -> bool:
        try:
            key.verify(signature, digest)
        except InvalidSignature:
            return False
        return True

    return check


@contextmanager
def _keys(path: Path, problem: str) -> Iterator[None]:
    """What may go wrong with a key, in one line."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
    except ImportError as error:
        raise BadInput("signatures need a library: pip install 'redrive[sign]'", place=str(path)) from error
    try:
        yield
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), place=str(path)) from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadInput(problem, place=str(path)) from error
