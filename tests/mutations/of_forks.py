"""What is guaranteed of runs that go on from others."""

from __future__ import annotations

from typing import Final

from tests.mutations.guarantee import Guarantee, without

_FOLD: Final = "projections/redrive_projections/forking.py"
_LOOP: Final = "engine/redrive_engine/loop/forking.py"
_TESTS: Final = "tests/engine/test_forking.py"
_CONTRACT: Final = "tests/events/test_log_contract.py"

FORKS: Final[tuple[Guarantee, ...]] = (
    without(
        "engine/redrive_engine/forking.py",
        "the keys of a fork are like those of no other run",
        "/fork-{mint()}",
        "",
        f"{_TESTS}::test_both_go_on_under_keys_of_their_own",
    ),
    without(
        _FOLD,
        "a signal that nobody has heard is not a fork's",
        "= {}, [], [event]",
        "= {}, [], [*state.unheard, event]",
        f"{_TESTS}::test_a_cancellation_that_nobody_has_heard_is_of_the_other_run",
    ),
    without(
        _FOLD,
        "what was done before a fork is the other run's to undo",
        'state.worker, state.effects, state.not_undone = "", {}, []',
        'state.worker = ""',
        f"{_TESTS}::test_what_was_done_before_is_the_other_runs_to_undo",
    ),
    without(
        _LOOP,
        "a write that was under way is not begun in a fork",
        'return call.attempt > 0 and call.effect != "read"',
        "return False",
        f"{_TESTS}::test_a_read_and_a_write_that_were_under_way",
    ),
    without(
        "events/redrive_events/chain.py",
        "a fork is of the run that was there",
        "and event.digest != before.hex():",
        "and not event.digest:",
        "tests/events/test_tampering.py::test_what_a_fork_inherits_is_found_where_it_is_not_as_it_was",
    ),
    without(
        "events/redrive_events/stores/sealing.py",
        "a run is forked at the end of an append",
        "    if decode(joint.line).left:\n",
        "    if decode(joint.line).left < 0:\n",
        f"{_CONTRACT}::test_a_fork_of_what_is_not_there_is_refused",
    ),
    without(
        "projections/redrive_projections/history/rows/__init__.py",
        "what a fork inherits counts once",
        "            if record.run_id != self._run.run_id:\n",
        "            if record.run_id != self._run.run_id and not record.position:\n",
        "tests/history/test_forks.py::test_a_fork_is_told_by_its_own_records",
    ),
    without(
        "projections/redrive_projections/effects.py",
        "a fork claims no effect of the run it is from",
        "            ledger = Ledger()\n",
        "            pass\n",
        f"{_TESTS}::test_a_read_and_a_write_that_were_under_way",
    ),
)
