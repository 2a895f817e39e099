"""What pytest is told of: an option, the fixture ``trajectories``, failures that explain, recordings nobody uses."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from redrive_replays.testing.fixture import Trajectories

# What a value that is masked may be, if the project does not say; `none` masks nothing.
MASKED: Final = ("secret", "card", "cn_id", "email", "iban", "phone")
EXPLAINED: Final = "redrive"
EXPLANATION_LINES_MAX: Final = 8


@dataclass
class Use:
    """Which recordings were used in this process, and which tests there are: all, and those that came to a good end."""

    used: set[str] = field(default_factory=set)
    collected: dict[str, list[str]] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    partly: set[str] = field(default_factory=set)
    workers: int = 0
    lost: bool = False

    def data(self) -> dict[str, Any]:
        """As a worker sends it."""
        return {
            "used": sorted(self.used),
            "collected": self.collected,
            "passed": sorted(self.passed),
            "partly": sorted(self.partly),
        }

    def add(self, data: dict[str, Any]) -> None:
        """Add what a worker has sent."""
        self.used.update(data["used"])
        self.collected |= data["collected"]
        self.passed.update(data["passed"])
        self.partly.update(data["partly"])

    def unused(self) -> list[Path]:
        """Recordings that no test asked for, of files all of whose tests were run and passed."""
        if self.lost:
            return []
        from redrive_replays.testing.recordings import FOLDER, SUFFIX

        whole = [
            Path(file)
            for file, tests in self.collected.items()
            if file not in self.partly and self.passed.issuperset(tests)
        ]
        folders = {file.parent / FOLDER / file.stem for file in whole}
        for beside in {file.parent for file in whole} if not self.partly else ():
            gone = [one for one in (beside / FOLDER).glob("*/") if not (beside / f"{one.name}.py").exists()]
            folders.update(gone)
        return sorted(one for folder in folders for one in folder.glob(f"*{SUFFIX}") if str(one) not in self.used)


# What it asserts is explained like what stands in a test.
pytest.register_assert_rewrite("redrive_replays.testing.incidents")

USE: Final = pytest.StashKey[Use]()
ITEM: Final = pytest.StashKey[pytest.Item]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option by which runs are recorded, and the setting that says what is masked in recordings."""
    parser.getgroup("redrive").addoption(
        "--redrive-record",
        choices=("none", "once", "new_episodes", "all"),
        default="none",
        help="Let agents run live: never (none), where there is no recording (once), also where one no longer fits "
        "(new_episodes), or always (all).",
    )
    parser.addini(
        "redrive_mask", "What is masked in recordings: classes of values, or none.", type="args", default=list(MASKED)
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to note what is used."""
    config.stash[USE] = Use()
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_Workers(), "redrive-workers")


class _Workers:
    """What only pytest-xdist asks for."""

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over what a worker has noted; one that was lost leaves nobody knowing what is unused."""
        use, sent = node.config.stash[USE], getattr(node, "workeroutput", {}).get("redrive")
        if error or sent is None:
            use.lost = True
        else:
            use.add(sent)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """A file of which only some tests are run uses only some of its recordings."""
    for item in items:
        item.config.stash[USE].partly.add(str(item.path))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which tests there are, and of which files only some were asked for."""
    use = session.config.stash[USE]
    for item in session.items:
        use.collected.setdefault(str(item.path), []).append(item.nodeid)
    named = [one.partition("::")[0] for one in session.config.args if "::" in one]
    use.partly.update(str(session.config.invocation_params.dir / one) for one in named)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note which tests came to a good end."""
    report = yield
    if report.when == "call" and report.passed:
        item.config.stash[USE].passed.add(item.nodeid)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Remember which test is at work, since a comparison is not told."""
    item.config.stash[ITEM] = item


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker sends what it has noted."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["redrive"] = session.config.stash[USE].data()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tell of recordings that nobody uses; they are never removed."""
    unused = config.stash[USE].unused()
    if unused:
        terminalreporter.write_sep("-", "redrive recordings")
        terminalreporter.write_line(f"{len(unused)} used by no test:")
        for path in unused:
            shown = path.relative_to(config.rootpath) if path.is_relative_to(config.rootpath) else path
            terminalreporter.write_line(f"  {shown.as_posix()}")


@pytest.hookimpl(wrapper=True)
def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> Generator[None, list[list[str] | None], list[list[str] | None]]:
    """Why a trajectory is not the one of its snapshot, in front of the difference that syrupy shows."""
    others = yield
    found = _explained(left, right) if op == "==" else []
    if not found:
        return others
    lines = [*found, *next((one for one in others if one), [])]
    if len(lines) > EXPLANATION_LINES_MAX and config.get_verbosity(pytest.Config.VERBOSITY_ASSERTIONS) < 2:
        config.stash[ITEM].add_report_section("call", EXPLAINED, "\n".join(lines))  # pytest cuts what is longer
    return [lines]


def _explained(left: object, right: object) -> list[str]:
    from redrive_replays.testing.trajectory import Trajectory

    trajectory, other = (left, right) if isinstance(left, Trajectory) else (right, left)
    if not isinstance(trajectory, Trajectory):
        return []
    from redrive_replays.testing.explaining import explained

    if isinstance(other, Trajectory):
        return explained(trajectory, other.at(trajectory.level).text, held="other")
    from syrupy.assertion import SnapshotAssertion

    if not isinstance(other, SnapshotAssertion) or not other.executions:
        return []
    recalled = other.executions[other.num_executions - 1].recalled_data
    return explained(trajectory, str(recalled)) if recalled is not None else []


@pytest.fixture
def trajectories(request: pytest.FixtureRequest) -> Trajectories:
    """Runs as trajectories: `replay` a recording, `run` an agent from the test's own one, `load` what was recorded."""
    from redrive_replays.testing.fixture import Place, Trajectories

    node, use = request.node, request.config.stash[USE]
    place = Place(Path(node.path), _name(node), node.nodeid, request.config.rootpath)
    return Trajectories(
        place,
        request.config.getoption("redrive_record"),
        mask=lambda: _mask(request.config),
        use=lambda path: use.used.add(str(path)),
        beside=lambda: [_name(one) for one in request.session.items if one.path == node.path],
    )


def _name(node: pytest.Item) -> str:
    """A test in its file, with its class."""
    return ".".join(node.nodeid.split("::")[1:])


def _mask(config: pytest.Config) -> Any:
    """The mask of recordings, whose agent has none of its own."""
    names = config.getini("redrive_mask")
    if names == ["none"]:
        return None
    from redrive_engine.masking import Mask
    from redrive_replays.testing.recordings import KEY

    return Mask(KEY, key_id="tests", secrets="secret" in names, classes=[one for one in names if one != "secret"])
