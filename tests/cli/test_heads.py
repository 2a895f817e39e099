"""`heads`, and `verify --against` them: what is not there any more is found, and so is a changed list."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)

from tests.cli.conftest import Redrive
from tests.cli.test_verify import changed


@pytest.fixture
def keys(folder: Path) -> tuple[str, str]:
    """A key and its public half, as OpenSSL writes them."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    Path("key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    Path("public.pem").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return "key.pem", "public.pem"


def test_the_list_can_be_checked_without_this_program(redrive: Redrive, incident: str, keys: tuple[str, str]) -> None:
    """Each line is JSON, and the last one seals the bytes before it."""
    assert redrive("heads", "-o", "heads.jsonl", "--sign", keys[0]) == (0, "", "")
    data = Path("heads.jsonl").read_bytes()
    header, head, seal = map(json.loads, data.splitlines())
    assert header["format"] == "redrive heads"
    assert (header["version"], header["offset"]) == (0, 25)
    assert (head["run_id"], head["position"]) == (incident, 25)
    assert header["order"] == sha256(f"{incident} 1 25\n".encode()).hexdigest()
    digest = sha256(data[: data.rindex(b"\n", 0, -1) + 1]).digest()
    assert seal["digest"] == digest.hex()
    public = load_pem_public_key(Path(keys[1]).read_bytes())
    public.verify(bytes.fromhex(seal["signature"]), digest)  # type: ignore[union-attr,call-arg]


def test_what_has_grown_since_is_sound(redrive: Redrive, incident: str, refund: str, folder: Path) -> None:
    """A list is of a moment; what came later is no damage."""
    Path("heads.jsonl").write_text(redrive("heads").out, encoding="utf-8")
    redrive("run", "refund_desk:agent", "--goal", "Refund ord_123", "--run-id", "later")
    assert redrive("verify", "--against", "heads.jsonl").code == 0
    assert redrive("verify", refund, "--against", "heads.jsonl").code == 0


GONE = {
    "a run": (
        [f"DELETE FROM {table} WHERE {key} = 2" for table, key in [("events", "run"), ("runs", "run")]]
        + ["DELETE FROM appends WHERE last_id >> 32 = 2"],
        "removed",
        0,
    ),
    "a tail": (
        [
            "DELETE FROM events WHERE run = 2 AND position > 3",
            "DELETE FROM appends WHERE last_id > (2 << 32) + 3",
            "UPDATE runs SET position = 3, digest = (SELECT substr(digests, -32) FROM events WHERE id = (2 << 32) + 3) "
            "WHERE run = 2",
        ],
        "cut off",
        4,
    ),
}


@pytest.mark.parametrize(("statements", "kind", "position"), GONE.values(), ids=GONE)
def test_what_was_taken_away_is_found(
    redrive: Redrive, incident: str, refund: str, statements: list[str], kind: str, position: int
) -> None:
    """However well it was done: nothing that is left in the log speaks of it."""
    redrive("heads", "-o", "heads.jsonl")
    changed(*statements)
    data = json.loads(redrive("verify", "--against", "heads.jsonl", "--json").out)
    found = [(one["run_id"], one["kind"], one["position"]) for one in data["damaged"] if one["kind"] == kind]
    assert found == [(refund, kind, position)]


def test_a_run_in_place_of_another_is_found(redrive: Redrive, incident: str, refund: str, folder: Path) -> None:
    """Its chain is sound: only the list knows that it is another."""
    redrive("heads", "-o", "heads.jsonl")
    Path("redrive.db").unlink()
    redrive("import", "incident.json")
    redrive("run", "refund_desk:agent", "--goal", "Refund ord_123", "--principal", "eve", "--run-id", refund)
    said = redrive("verify", "--against", "heads.jsonl", "--json")
    assert [(one["run_id"], one["kind"]) for one in json.loads(said.out)["damaged"]] == [(refund, "replaced")]


def test_runs_that_changed_places_are_found(redrive: Redrive, incident: str, refund: str) -> None:
    """No chain holds the order over all runs; the list does."""
    redrive("heads", "-o", "heads.jsonl")
    first = "(SELECT count FROM appends WHERE last_offset = 25)"
    changed(
        f"UPDATE appends SET last_offset = -last_offset - {first} WHERE last_id >> 32 = 1",
        "UPDATE appends SET last_offset = last_offset - 25 WHERE last_id >> 32 = 2",
        "UPDATE appends SET last_offset = (SELECT max(last_offset) FROM appends) + count WHERE last_offset < 0",
    )
    assert redrive("verify").code == 0
    said = redrive("verify", "--against", "heads.jsonl")
    assert said.out.splitlines()[0] == "the log    order  the order over all runs is another than it was"


@pytest.mark.parametrize("cut", [1, 2, 40, 150])
def test_a_list_that_was_changed_is_not_believed(redrive: Redrive, incident: str, folder: Path, cut: int) -> None:
    """Cut off, or with another byte."""
    text = redrive("heads").out
    Path("cut.jsonl").write_text(text[:-cut], encoding="utf-8")
    if cut > 1:
        assert redrive("verify", "--against", "cut.jsonl").code == 2
    changed_text = text.replace('"position":25', '"position":24')
    Path("changed.jsonl").write_text(changed_text, encoding="utf-8")
    said = redrive("verify", "--against", "changed.jsonl")
    assert said == (2, "", "redrive: changed.jsonl: it is not as it was written\n")


def refused(redrive: Redrive, *arguments: str) -> str:
    """What is said of a request that is refused."""
    code, out, err = redrive(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


def test_what_is_wrong_with_a_list_or_a_key_is_told_in_one_line(
    redrive: Redrive, incident: str, keys: tuple[str, str]
) -> None:
    """Naming the file."""
    key, public = keys
    redrive("heads", "-o", "plain.jsonl")
    redrive("heads", "-o", "signed.jsonl", "--sign", key)
    other = Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)).public_key()
    Path("other.pem").write_bytes(other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    mine = Ed25519PrivateKey.from_private_bytes(bytes(32))
    Path("locked.pem").write_bytes(
        mine.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    )
    exchange = X25519PrivateKey.from_private_bytes(bytes(32))
    Path("x.pem").write_bytes(exchange.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    Path("px.pem").write_bytes(exchange.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    newer = Path("plain.jsonl").read_text(encoding="utf-8").replace('"version":0', '"version":1')
    Path("newer.jsonl").write_text(newer, encoding="utf-8")

    assert redrive("verify", "--against", "signed.jsonl", "--key", public).code == 0
    assert redrive("verify", "--against", "signed.jsonl").code == 0
    against = ("verify", "--key", public, "--against")
    assert refused(redrive, *against, "plain.jsonl") == "redrive: plain.jsonl: not signed\n"
    assert "no such file" in refused(redrive, *against, "none.jsonl")
    assert "no list of heads" in refused(redrive, *against, "incident.json")
    assert "format version 1, and this program reads up to 0" in refused(redrive, *against, "newer.jsonl")
    against = ("verify", "--against", "signed.jsonl", "--key")
    assert refused(redrive, *against, "other.pem") == "redrive: signed.jsonl: not signed by this key\n"
    assert refused(redrive, *against, "px.pem") == "redrive: px.pem: no public key in PEM for Ed25519\n"
    assert "no public key" in refused(redrive, *against, key)
    assert "no such file" in refused(redrive, *against, "none.pem")
    for bad in ("locked.pem", "x.pem", public, "incident.json"):
        assert f"{bad}: no private key in PEM, without a password" in refused(redrive, "heads", "--sign", bad)
    assert "--key is for the list" in refused(redrive, "verify", "--key", public)
