"""No event changes its shape unseen, and from 0.1.0 on none under its own tag."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from redrive_events.content import Data
from tests.shapes import read, renewed, shapes, spelled


class _Inside(Data, frozen=True):
    """A part of it."""

    size: int = 1


class _Told(Data, frozen=True, tag_field="event", tag="told"):
    """What was told."""

    words: str
    kind: Literal["a", "b"] = "a"
    times: int = 1
    inside: _Inside = _Inside()


class _OtherWords(Data, frozen=True, tag_field="event", tag="told"):
    """Told in other words."""

    words: str
    kind: Literal["a", "b"] = "a"
    times: int = 1
    inside: _Inside = _Inside()


def another(**changes: tuple[object, ...] | None) -> type:
    """The event with other fields: each a type, or a type and a default; None for one that is left out."""
    fields: dict[str, tuple[object, ...] | None] = {
        "words": (str,),
        "kind": (Literal["a", "b"], "a"),
        "times": (int, 1),
        "inside": (_Inside, _Inside()),
    }
    made = [(name, *field) for name, field in (fields | changes).items() if field is not None]
    return msgspec.defstruct("_Told", made, bases=(Data,), kw_only=True, tag_field="event", tag="told")  # type: ignore[arg-type]


CHANGES = {
    "a field more": another(more=(str, "")),
    "a field less": another(times=None),
    "another name": another(words=None, word=(str,)),
    "another type": another(words=(int,)),
    "another default": another(times=(int, 2)),
    "no default": another(times=(int,)),
    "a default": another(words=(str, "")),
    "one word more": another(kind=(Literal["a", "b", "c"], "a")),
    "another part": another(inside=(dict[str, int], {})),
    "another default of a part": another(inside=(_Inside, _Inside(size=2))),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_every_change_of_an_event_is_seen(changed: type) -> None:
    """Whatever a stored line could say otherwise, or not at all."""
    assert shapes([changed])["told"] != shapes([_Told])["told"]


def test_other_words_about_an_event_are_no_change() -> None:
    """Nor is the order in which its fields are told, or the name of the class."""
    assert shapes([_OtherWords])["told"] == shapes([_Told])["told"]


def test_shapes_are_kept_as_lines() -> None:
    """So that a diff shows which event was changed."""
    kept = shapes()
    assert read(spelled(kept)) == kept
    assert {"record", "run_started", "run_ended"} <= kept.keys()


def test_before_0_1_0_a_shape_may_change() -> None:
    """What was recorded is then recorded anew."""
    assert renewed({"told": "1", "gone": "2"}, {"told": "3"}, upcasters=(), released=False) == {"told": "3"}


@pytest.mark.parametrize(
    ("now", "upcasters", "then"),
    [
        ({"told": "2"}, (), "told: another shape under the same tag"),
        ({"told.2": "2"}, (), "told: nothing reads it any more"),
        ({"told.2": "2"}, ("told",), {"told": "1", "told.2": "2"}),
        ({"told": "1", "asked": "2"}, (), {"told": "1", "asked": "2"}),
        ({"told": "1"}, (), {"told": "1"}),
    ],
    ids=["changed in place", "without a step", "with version and step", "a new event", "nothing"],
)
def test_from_0_1_0_on_a_changed_event_has_a_tag_of_its_own(
    now: dict[str, str], upcasters: tuple[str, ...], then: dict[str, str] | str
) -> None:
    """And the old one is kept, since logs have it."""
    if isinstance(then, str):
        with pytest.raises(ValueError, match=then):
            renewed({"told": "1"}, now, upcasters=upcasters, released=True)
    else:
        assert renewed({"told": "1"}, now, upcasters=upcasters, released=True) == then
