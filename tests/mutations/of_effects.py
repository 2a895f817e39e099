"""What is guaranteed of effects, leases and cancellation."""

from __future__ import annotations

from typing import Final

from tests.mutations.guarantee import Guarantee, without

_EFFECTS: Final = "engine/redrive_engine/loop/effects.py"
_OBSERVING: Final = "engine/redrive_engine/loop/observing.py"
_WORLD: Final = "engine/redrive_engine/live/world.py"
_LIVE: Final = "tests/engine/test_live.py"
_LIVE_EFFECTS: Final = "tests/engine/test_live_effects.py"
_LETTING_GO: Final = "tests/engine/test_letting_go.py"
_DESK: Final = "examples/order_status/test_controls.py"
_PROMISES: Final = "examples/order_status/test_order_status.py"

EFFECTS: Final[tuple[Guarantee, ...]] = (
    without(
        _EFFECTS,
        "the key is the same over all attempts",
        'key=f"{s.started.nonce}:{call.number}" if',
        'key=f"{s.started.nonce}:{call.number}:{call.attempt}" if',
        f"{_LIVE}::test_a_write_that_did_not_land_is_tried_again_with_the_same_key",
        f"{_DESK}::test_a_write_in_doubt_is_settled_before_anything_else",
    ),
    without(
        _EFFECTS,
        "no other run has the key",
        'key=f"{s.started.nonce}:{call.number}" if',
        'key=f":{call.number}" if',
        "tests/engine/test_invariants.py::test_every_append_of_every_run_keeps_the_rules_of_the_loop",
    ),
    without(
        _OBSERVING,
        "a write without an answer is in doubt",
        "as why if call.effect in ACTING:",
        "as why if call.effect in ACTING and not s.running:",
        f"{_LIVE}::test_a_write_that_takes_too_long_but_landed_is_not_done_again",
        f"{_PROMISES}::test_every_promise_is_kept",
    ),
    without(
        _EFFECTS,
        "an effect in doubt is asked of its authority",
        "    yield ReconcileAsked(call=call.number, key=call.key)\n",
        "",
        f"{_LIVE}::test_a_write_that_takes_too_long_but_landed_is_not_done_again",
    ),
    without(
        _EFFECTS,
        "the open writes of a worker that is lost are in doubt",
        "isinstance(request, ToolCalled) and request.effect in ACTING:",
        "isinstance(request, ToolCalled) and not request.effect:",
        f"{_DESK}::test_a_worker_whose_lease_is_revoked_begins_nothing_more",
    ),
    without(
        _EFFECTS,
        "the attempts of a write are bounded",
        "if s.running and call.attempt < program.terms.attempts:",
        "if s.running and call.attempt < program.terms.attempts + 3:",
        "tests/engine/test_invariants.py::test_a_run_of_many_doubts_keeps_the_same_rules",
    ),
    without(
        _EFFECTS,
        "an effect of which nobody knows never goes back to the model",
        'elif s.running and program.terms.on_doubt == "escalate":',
        'elif s.running and program.terms.on_doubt == "never":',
        f"{_LIVE}::test_a_write_that_nobody_can_speak_for_goes_to_a_person",
    ),
    without(
        _EFFECTS,
        "a person is asked before the model is, where the contract waits for one",
        'elif s.running and program.terms.on_doubt == "wait":',
        'elif s.running and program.terms.on_doubt == "never":',
        f"{_DESK}::test_a_write_in_doubt_is_settled_before_anything_else",
    ),
    without(
        "projections/redrive_projections/people.py",
        "a person's word on an effect counts only where they were asked",
        "if type(request) is PersonAsked and request.effect == event.call and",
        "if type(request) is PersonAsked and",
        "tests/projections/test_state.py::test_a_word_on_an_effect_of_which_nobody_was_asked_counts_nothing",
    ),
    without(
        _EFFECTS,
        "what has landed passes through the verifier, however it became known",
        "    if call.compensates is None:\n        yield from verified(",
        "    if call.compensates is None and isinstance(seen, ObservationReceived):\n        yield from verified(",
        f"{_LIVE_EFFECTS}::test_a_doubt_that_a_person_ends_is_verified_and_told_like_any_result",
        "tests/engine/test_envelope.py::test_what_was_reconciled_is_held_against_the_same",
    ),
    without(
        "engine/redrive_engine/execution.py",
        "a write that raises is not known to have failed",
        'return _outcome(tool, "unknown", f"{name}: not known',
        'return _outcome(tool, "error", f"{name}: not known',
        "tests/engine/test_execution.py::test_what_a_tool_raises_says_only_what_is_known",
    ),
    without(
        "engine/redrive_engine/execution.py",
        "an authority that fails says nothing",
        '            return "unknown", None\n    return "unknown", None\n',
        '            return "unknown", None\n    return "not_landed", None\n',
        "tests/engine/test_execution.py::test_the_authority_says_what_became_of_a_write",
    ),
    without(
        "engine/redrive_engine/live/settling.py",
        "did not happen is believed once the attempt can no longer land",
        'if answer.outcome != "not_landed" or not might:',
        "if answer.outcome or not might:",
        f"{_LIVE_EFFECTS}::test_that_another_worker_did_nothing_is_believed_where_it_can_do_nothing_more",
    ),
    without(
        _WORLD,
        "attempts of a write never overlap",
        "if waiting.stopping or self._running[request.call]:",
        "if waiting.stopping:",
        f"{_LIVE_EFFECTS}::test_a_slow_write_is_not_started_again_while_it_runs_whatever_a_person_says",
    ),
    without(
        _OBSERVING,
        "a read is asked again so often, and no more",
        "call.attempt < program.terms.read_attempts",
        "call.attempt <= program.terms.read_attempts",
        f"{_PROMISES}::test_every_promise_is_kept",
        f"{_DESK}::test_reads_are_asked_again_within_bounds",
    ),
    without(
        _OBSERVING,
        "only what passes by itself is asked again",
        'or event.error == "unavailable")',
        "or event.error)",
        f"{_DESK}::test_reads_are_asked_again_within_bounds",
    ),
    without(
        _OBSERVING,
        "only a read is simply asked again",
        'return passing and call.effect == "read" and',
        "return passing and",
        f"{_DESK}::test_a_write_in_doubt_is_settled_before_anything_else",
        f"{_PROMISES}::test_every_promise_is_kept",
    ),
    without(
        _EFFECTS,
        "what was done last is undone first",
        "for number in reversed(s.effects):",
        "for number in s.effects:",
        f"{_LIVE_EFFECTS}::test_what_was_done_last_is_undone_first",
    ),
    without(
        _EFFECTS,
        "a run that is given up undoes what it did",
        "if declared is not None and declared.compensable:",
        "if declared is None:",
        f"{_DESK}::test_what_was_credited_is_taken_back",
    ),
)

LEASES: Final[tuple[Guarantee, ...]] = (
    without(
        _WORLD,
        "the lease is looked at right before a write",
        "        self._hold(waiting.run_id, waiting.worker)\n        return not self._moved_on(waiting) and",
        "        return not self._moved_on(waiting) and",
        f"{_LIVE}::test_a_worker_that_was_frozen_before_a_write_does_not_start_it",
    ),
    without(
        _WORLD,
        "nobody has been there since the last append, right before a write",
        "return not self._moved_on(waiting) and not self._is_taken_above()",
        "return not self._is_taken_above()",
        f"{_LIVE}::test_a_write_that_was_asked_for_does_not_start_behind_a_stop",
    ),
    without(
        _WORLD,
        "a child of a run that was taken over begins nothing",
        "        waiting = above._waiting\n        since",
        "        return False\n        waiting = above._waiting\n        since",
        f"{_LETTING_GO}::test_a_child_of_a_run_that_was_taken_over_begins_nothing",
    ),
    without(
        "projections/redrive_projections/folding.py",
        "a revocation takes the run from its worker",
        '        state.worker = ""\n',
        "        state.worker = state.worker\n",
        f"{_LETTING_GO}::test_a_worker_whose_lease_was_revoked_does_not_take_it_again",
    ),
    without(
        "engine/redrive_engine/drive.py",
        "a worker of the past writes nothing more",
        "if revoked or s.epoch != (event.epoch - 1 if isinstance(event, LeaseGranted) else epoch):",
        "if not s.run_id:",
        f"{_LIVE}::test_a_worker_that_was_frozen_writes_nothing_more",
    ),
    without(
        "engine/redrive_engine/drive.py",
        "a worker whose lease was revoked writes nothing more",
        "if revoked or s.epoch",
        "if s.epoch",
        f"{_DESK}::test_a_worker_whose_lease_is_revoked_begins_nothing_more",
    ),
    without(
        "engine/redrive_engine/drive.py",
        "an answer to what is no longer open is dropped",
        "(happened.cause and happened.cause not in s.requests):",
        "(happened.cause and not s.requests):",
        "tests/engine/test_writing.py::test_an_answer_to_what_is_no_longer_open_is_dropped",
    ),
    without(
        _WORLD,
        "a second worker is refused while the first is alive",
        "        except LeaseHeld as held:\n            while",
        "        except LeaseHeld as held:\n            self._log.release(state.run_id, held.worker)\n"
        "            while",
        f"{_LIVE}::test_a_second_worker_is_refused_while_the_first_is_alive",
    ),
    without(
        "engine/redrive_engine/live/asking.py",
        "a tool is handed the epoch of its worker",
        "        epoch=waiting.epoch,\n        attempt=",
        "        epoch=1,\n        attempt=",
        f"{_DESK}::test_a_worker_whose_lease_is_revoked_begins_nothing_more",
    ),
)

CANCELLATION: Final[tuple[Guarantee, ...]] = (
    without(
        _WORLD,
        "what was asked for does not start behind a stop",
        "        if waiting.stopping and not isinstance(request, ReconcileAsked) and",
        "        if waiting.stopping and isinstance(request, ReconcileAsked) and",
        f"{_LIVE}::test_nothing_that_was_asked_for_starts_after_a_stop",
    ),
    without(
        "engine/redrive_engine/loop/react.py",
        "a cancellation stops the run",
        "        if isinstance(signal, CancelRequested) and s.running:\n",
        "        if isinstance(signal, CancelRequested) and s.end is not None:\n",
        f"{_LIVE}::test_a_cancellation_takes_effect_before_the_next_action",
        f"{_DESK}::test_nothing_begins_after_a_cancellation",
    ),
    without(
        _WORLD,
        "a write may finish within the grace",
        "limit = grace if finishes else moment",
        "limit = moment",
        f"{_LIVE}::test_an_ending_run_cancels_its_reads_and_lets_a_write_finish",
    ),
    without(
        _WORLD,
        "what did not finish within the grace is asked about",
        'status="unknown", content="The outcome is not known.")',
        'status="cancelled", content="The outcome is not known.")',
        f"{_LIVE}::test_an_ending_run_asks_for_a_write_that_did_not_finish",
    ),
    without(
        "engine/redrive_engine/attempts.py",
        "a thread that blocks keeps no process",
        "daemon=True",
        "daemon=False",
        "tests/engine/test_execution.py::test_a_process_ends_although_a_tool_blocks_for_ever",
    ),
    without(
        "engine/redrive_engine/live/flights.py",
        "a task that swallows its cancellation keeps no process",
        "        let_go(self._cancelled)\n",
        "        pass\n",
        f"{_LETTING_GO}::test_a_process_ends_in_time_whatever_its_tools_do",
    ),
    without(
        "projections/redrive_projections/folding.py",
        "a call that a stop came before is told as not run",
        'respond(state, call.number, NOT_RUN, position, "not run")',
        "pass",
        "tests/projections/test_state.py::test_a_call_that_a_stop_came_before_was_not_run",
    ),
)
