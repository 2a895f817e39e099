"""At the width of a terminal: what has no room goes on below, in whatever script it is, and nothing is lost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from redrive.fitting import Rows, laid_out
from redrive_replays.faults import CHECKS
from tests.cli.conftest import DESK, Redrive
from tests.cli.test_faults import WEAK

TEXTS = {
    "words": "the recording has no sure answer to it; 1 recorded turn left unsaid, and nobody knows",
    "chinese": "王芳的订单在哪里？它昨天已经寄出，请在门口签收。谢谢您的耐心等待！",
    "arabic": "أين طلبي؟ لقد دفعت ثمنه قبل أسبوع ولم يصل حتى الآن، أرجو الرد سريعا",
    "emoji": "👩‍👩‍👧‍👦 asks 🚲🇩🇪 twice 👍🏽 and then 🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲",
    "one word": '{"id":"1b649f3f34921e0b2523e37c5c8c0cedf4e06570ef1e1ac4b77c4d3b2a316293"}',
    "command": "a\x1b[2Jb\nc",
}


def plain(line: Rows | str, width: int) -> list[str]:
    """The lines that are shown."""
    return [text.plain for text in laid_out([line], width)]


def unblanked(text: str) -> str:
    """A text without what a fold may add or leave out, and as a terminal is shown it."""
    return re.sub(r"\s", "", text.replace("\x1b", "\ufffd").replace("\n", "\ufffd"))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("width", [12, 40, 80])
def test_a_line_is_folded_and_nothing_of_it_is_lost(text: str, width: int) -> None:
    """No line is wider than the terminal; all but the first are set in."""
    lines = plain(text, width)
    assert max(map(cell_len, lines)) <= width
    assert all(line.startswith("  ") for line in lines[1:])
    assert unblanked("".join(lines)) == unblanked(text)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("headed", [True, False])
@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_cell_is_folded_in_its_column(text: str, headed: bool, width: int) -> None:
    """The same holds of rows, with a head and without."""
    rows = Rows([("NAME", "FLIP", "CALLS"), ("refund", text, "12"), (text, "b", "3")], right=[2], headed=headed)
    lines = plain(rows, width)
    assert max(map(cell_len, lines)) <= width
    shown = sorted(unblanked("".join(lines)))
    there = sorted(unblanked("".join(str(cell) for row in rows.rows for cell in row)))
    assert shown == there or headed  # one below the other, heads are told again
    assert set(there) <= set(shown)


def test_columns_are_folded_between_words() -> None:
    """Narrow columns stay whole, and a number stays at the right."""
    rows = Rows(
        [("RUN", "FIRST FLIP", "CALLS"), ("refund-1", "call 2 refund: allow → deny", "12")], right=[2], headed=True
    )
    assert plain(rows, 30) == [
        "RUN       FIRST FLIP     CALLS",
        "refund-1  call 2            12",
        "          refund: allow",
        "          → deny",
    ]


def test_a_table_whose_words_have_no_room_is_told_cell_by_cell() -> None:
    """An id that is broken can be copied by nobody."""
    run_id = "openinference-0123456789"
    rows = Rows([("RUN", "HOW SURE", "END"), (run_id, "exact", "failed"), ("b", "same", "")], headed=True)
    assert plain(rows, 40) == [
        f"RUN       {run_id}",
        "HOW SURE  exact",
        "END       failed",
        "",
        "RUN       b",
        "HOW SURE  same",
    ]


def test_what_has_room_is_as_it_is_in_a_pipe() -> None:
    """A wide terminal shows all in its place."""
    rows = Rows([("a", "王芳", ""), ("bb", "c", "d")], narrow=["never"])
    assert plain(rows, 80) == plain(rows, 0) == ["a   王芳", "bb  c     d"]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that believes it is a terminal of 80 cells without colours."""
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)


def shown(out: str) -> list[str]:
    """The lines of a terminal, without their colours."""
    lines = re.sub(r"\x1b\[[\d;]*m", "", out).splitlines()
    assert max(map(cell_len, lines)) <= 80
    return lines


def test_an_edge_report_fits_a_terminal(redrive: Redrive, refund: str, narrow: None) -> None:
    """The word diff, the effects and how to go on are there to their last word."""
    said = redrive("whatif", refund, "--agent", "refund_desk:agent", "--policy", DESK / "stricter.toml")
    lines = shown(said.out)
    assert lines[8:] == [
        'prevented  15  landed  refund(cents=4900, iban="DE89 3704 0044 0532 0130 00",',
        '                       order_id="ord_123")',
        "",
        "edge  model asked: the recording has no sure answer to it; 1 recorded turn left",
        "  unsaid",
        '  tool: [-{"cents":4900,"iban":"DE89 3704 0044 0532 0130',
        '    00","payment":"pay_1"}-]{+This call is not allowed.+}',
        "goes on with  --live model, --beyond recorded, --set-reply 3=FILE",
    ]


def test_a_back_test_fits_a_terminal(redrive: Redrive, refund: str, folder: Path, narrow: None) -> None:
    """Also where the file of rules has a Chinese name."""
    rules = folder / "更严格的规则：只看不写，任何钱都不退.toml"
    rules.write_bytes((DESK / "stricter.toml").read_bytes())
    said = redrive("backtest", "--policy", rules.name, "--agent", "refund_desk:agent")
    lines = shown(said.out)
    assert lines[0] == f"{rules.name}  1 run, 2 verdicts: 1 exact to turn"
    assert lines[-3:] == [
        "RUN       FIRST FLIP        HOW SURE          RECORDED END  END        PREVENTED",
        "refund-1  call 2 refund:    exact to turn 2   succeeded     not known  call 2",
        "          allow → deny      of 3",
    ]


def test_a_table_of_faults_fits_a_terminal(redrive: Redrive, narrow: None) -> None:
    """It says which promises are not held in place of a column for each, and which there are."""
    lines = shown(redrive("faults", *WEAK, "--call-writes").out)
    assert lines[2:7] == [
        "SLICE                      SPOILT  PROMISES                 RUNS ENDED",
        "no fault                           all held                 succeeded",
        "contradicting              13      BROKEN evidence; 7 held  succeeded, exhausted",
        "observations",
        "stale data                 14      all held                 succeeded, exhausted",
    ]
    assert "".join(lines[8:10]).replace("  ", " ") == f"promises: {', '.join(CHECKS)}"


def test_a_replay_and_a_diff_fit_a_terminal(redrive: Redrive, refund: str, narrow: None) -> None:
    """A digest that has no room beside its pointer stands below it."""
    other = ["--agent", "refund_desk:agent", "--policy", str(DESK / "stricter.toml")]
    lines = shown(redrive("replay", refund, *other).out)
    (place,) = json.loads(redrive("replay", refund, *other, "--json").out)["reports"][0]["divergences"]
    digests = [one["recorded"] for one in place["differences"] if one["pointer"] == "/policy"]
    assert [f'"{digest}"' for digest in digests] == [line.strip() for line in lines if digests[0] in line]
