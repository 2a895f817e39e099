"""The repository under diagnosis: two source files, two tests and a search, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

LOGIN: Final = "src/auth/login.ts"
CALLBACK: Final = "src/auth/callback.ts"
FILES: Final = (LOGIN, CALLBACK)

REDIRECT_TEST: Final = "tests/auth/login-redirect.test.ts#returns-to-requested-page"
KEY_TEST: Final = "tests/auth/login-redirect.test.ts#session-key-contract"
TESTS: Final = (REDIRECT_TEST, KEY_TEST)


class _Seen(BaseModel):
    """What a tool brings back: every observation names what it is of."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RanTest(_Seen):
    """How one test ended."""

    test: str
    exit_code: int
    output: str


class Hit(_Seen):
    """A line that a search found; lines count from 1."""

    path: str
    line: int
    text: str


class Found(_Seen):
    """All that a search found."""

    query: str
    hits: tuple[Hit, ...]


class SourceFile(_Seen):
    """The whole text of one file."""

    path: str
    text: str


@dataclass(frozen=True)
class Repository:
    """The texts of the files by path, and how each test ends: its exit code and its output."""

    files: Mapping[str, str]
    tests: Mapping[str, tuple[int, str]]

    def run_test(self, test: str) -> RanTest:
        """Run one test."""
        exit_code, output = self.tests[test]
        return RanTest(test=test, exit_code=exit_code, output=output)

    def search_code(self, query: str) -> Found:
        """All lines with at least one word of the query."""
        words = query.split()
        hits = tuple(
            Hit(path=path, line=number, text=line)
            for path, text in self.files.items()
            for number, line in enumerate(text.splitlines(), start=1)
            if any(word in line for word in words)
        )
        return Found(query=query, hits=hits)

    def read_file(self, path: str) -> SourceFile:
        """One file."""
        return SourceFile(path=path, text=self.files[path])


_LOGIN = """\
export function beginLogin(session: Session, requested: string): Redirect {
  const validated_path = isLocalPath(requested) ? requested : '/';
  session['return_to'] = validated_path;
  return redirect(identityProvider.authorizeUrl());
}
"""
_CALLBACK = """\
export function finishLogin(session: Session): Redirect {
  const target = session['next_path'] ?? '/';
  return redirect(target);
}
"""

BROKEN: Final = Repository(
    files={LOGIN: _LOGIN, CALLBACK: _CALLBACK},
    tests={
        REDIRECT_TEST: (1, "FAILED: expected '/settings', got '/'\n"),
        KEY_TEST: (1, "FAILED: producer 'return_to' != consumer 'next_path'\n"),
    },
)
