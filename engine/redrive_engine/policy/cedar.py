"""Policies in Cedar, judged by its own engine: a doubt is a denial here too."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

from redrive_engine.policy.cedar_terms import Unspeakable, read_by, readings, request_of
from redrive_engine.policy.question import NO_RULE, NOT_ALLOWED, RESERVED, Question, Ruling
from redrive_events import BadInput, Json, digest, mended, parse_json

T = TypeVar("T")

# The rule of a denial that is no policy's own.
CEDAR: Final = "cedar"
_KEY: Final = re.compile(r"`(policy[0-9]+)`")
# The text of policies in pieces: one alone is a semicolon that stands in no text and in no comment.
_PIECE: Final = re.compile(r'"(?:\\.|[^"\\])*"?|//[^\n]*|;|[^";/]+|/', re.DOTALL)


class CedarPolicy:
    """Policies in Cedar's language, with its entities and, by wish, a schema that they and each call must fit.

    A ``forbid`` that is satisfied denies, else a ``permit`` allows; where neither is, it has no opinion. If a policy
    cannot be evaluated, what would be allowed is denied. A verdict bears the names of the policies that determined it:
    their ``@id``, or ``policy0``, ``policy1`` … in the order of the text. Their ``@reason`` is for the record, their
    ``@text`` for the model.

    Raises:
        BadInput: it is not Cedar, or does not fit the schema; or Cedar is not installed.
    """

    def __init__(self, policies: str, entities: str = "[]", schema: str = "", *, name: str = "policy") -> None:
        self._cedar = _library(name)
        self._policies = _parsed(self._cedar, policies, name)
        self._schema = _loaded(self._cedar.Schema.from_str, schema, f"{name}: schema") if schema else None
        self._entities = _loaded(self._with_schema, entities, f"{name}: entities")
        written: Json = parse_json(self._cedar.policies_to_json_str(policies))
        if written["templates"]:
            raise BadInput("a template is a policy with blanks, and nobody fills them in", place=name)
        self._written: Mapping[str, Json] = written["staticPolicies"]
        self._names = {key: str(_annotated(one, "id") or key) for key, one in self._written.items()}
        self._reads = {key: read_by(one) for key, one in self._written.items()}
        self._check(policies, name)
        self.digest = digest([self._written, parse_json(entities), schema])
        self.wording = digest([policies, entities, schema])
        self.data: Json = {"cedar": policies, "entities": entities, "schema": schema}

    @classmethod
    def in_file(cls, policies: Path, *, entities: Path | None = None, schema: Path | None = None) -> CedarPolicy:
        """The policies in a file, with the entities and the schema that are named, or stand beside it.

        Beside ``policy.cedar`` they are called ``policy.entities.json`` and ``policy.cedarschema``.

        Raises:
            BadInput: a file cannot be read, or is not what it should be.
        """
        text = _text(policies)
        known = _text(entities or policies.with_suffix(".entities.json"), needed=entities is not None)
        shape = _text(schema or policies.with_suffix(".cedarschema"), needed=schema is not None)
        return cls(text, known or "[]", shape, name=policies.name)

    @classmethod
    def from_data(cls, data: Json) -> CedarPolicy:
        """The policy that a run recorded.

        Raises:
            BadInput: it is none.
        """
        texts = [data.get(key) for key in ("cedar", "entities", "schema")] if isinstance(data, dict) else [None]
        if not all(isinstance(text, str) for text in texts):
            raise BadInput("policies, entities and schema are texts", place="policy")
        return cls(*texts)

    @property
    def rules(self) -> tuple[str, ...]:
        """By which names it rules."""
        return tuple(self._names.values())

    @property
    def written(self) -> Mapping[str, Json]:
        """Each policy as Cedar's own plain data, by the name that verdicts bear."""
        return {self._names[key]: one for key, one in self._written.items()}

    def opinion(self, question: Question) -> Ruling | None:
        """What the policies say; None if none of them applies. It never raises."""
        try:
            asked = request_of(question)
            result = self._cedar.is_authorized(asked, self._policies, self._entities, self._schema)
            decision, found, errors = result.decision.value, result.diagnostics.reasons, result.diagnostics.errors
        except Unspeakable as error:
            return _denied(str(error))
        except Exception as error:  # noqa: BLE001 - what Cedar cannot judge is denied
            return _denied(f"Cedar raised {type(error).__name__}")
        if decision not in {"Allow", "Deny"}:
            return _denied("Cedar cannot judge this call, or it does not fit the schema")
        if errors and (decision == "Allow" or not found):
            return self._doubted({key for error in errors for key in _KEY.findall(error)}, question)
        return self._ruling(found, question, allowed=decision == "Allow") if found else None

    def judge(self, question: Question) -> Ruling:
        """What the policies say; else a denial."""
        return self.opinion(question) or NO_RULE

    def _ruling(self, found: Sequence[str], question: Question, *, allowed: bool) -> Ruling:
        keys = [key for key in self._names if key in found]
        rule, read = ", ".join(self._names[key] for key in keys), self._read(keys, question)
        reason, text = (self._words(keys, word) for word in ("reason", "text"))
        return Ruling("allow" if allowed else "deny", rule, reason, "" if allowed else text or NOT_ALLOWED, read)

    def _doubted(self, failed: set[str], question: Question) -> Ruling:
        keys = [key for key in self._names if key in failed]
        names = ", ".join(self._names[key] for key in keys)
        return _denied(f"{names or 'a policy'} could not be evaluated", names, self._read(keys, question))

    def _read(self, keys: Sequence[str], question: Question) -> Any:
        return readings(frozenset().union(*(self._reads[key] for key in keys)), question)

    def _words(self, keys: Sequence[str], annotation: str) -> str:
        return "; ".join(mended(word) for key in keys if (word := _annotated(self._written[key], annotation)))

    def _with_schema(self, text: str) -> Any:
        return self._cedar.Entities.from_json_str(text, self._schema)

    def _check(self, policies: str, place: str) -> None:
        names = list(self._names.values())
        for one in names:
            if one in RESERVED or names.count(one) > 1:
                raise BadInput(
                    "there is another policy, or a rule of the engine, of this @id", place=f"{place}: {one!r}"
                )
        for error in self._cedar.validate_policies(policies, self._schema).errors if self._schema else ():
            raise BadInput(_line(error.error), place=f"{place}: {self._names.get(error.policy_id, 'schema')}")


def _library(place: str) -> ModuleType:
    try:
        import cedarpy
    except ImportError as error:
        raise BadInput("Cedar needs more than is installed: pip install 'redrive[cedar]'", place=place) from error
    return cedarpy


def _denied(reason: str, rule: str = "", read: Any = ()) -> Ruling:
    return Ruling("deny", rule or CEDAR, reason, NOT_ALLOWED, read)


def _annotated(written: Json, name: str) -> str:
    return written.get("annotations", {}).get(name) or ""


def _line(words: object) -> str:
    return " ".join(str(words).split())


def _loaded(load: Callable[[str], T], text: str, place: str) -> T:
    try:
        return load(text)
    except ValueError as error:
        raise BadInput(_line(error), place=place) from error


def _parsed(cedar: ModuleType, text: str, place: str) -> Any:
    try:
        return cedar.PolicySet.from_str(text)
    except ValueError as error:
        raise BadInput(f"not Cedar: {_line(error)}", place=f"{place}:{_first_bad(cedar, text)}") from error


def _first_bad(cedar: ModuleType, text: str) -> int:
    """The line on which the first policy begins that is none: Cedar says no place."""
    line, policy = 1, ""
    for piece in [*_PIECE.findall(text), ";"]:
        policy += piece
        if piece == ";":
            try:
                cedar.PolicySet.from_str(policy)
            except ValueError:
                return line + _blank_lines(policy)
            line, policy = line + policy.count("\n"), ""
    return line


def _blank_lines(policy: str) -> int:
    """How many lines of nothing, or of comments, stand in front of a policy."""
    before = re.match(r"(?:\s|//[^\n]*\n)*", policy)
    return before[0].count("\n") if before else 0


def _text(file: Path, *, needed: bool = True) -> str:
    if not needed and not file.exists():
        return ""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("not UTF-8", place=file.name) from error
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), place=str(error.filename)) from error
