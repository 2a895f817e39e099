"""What a policy, a contract and a person's approval guarantee of calls."""

from __future__ import annotations

from typing import Final

from tests.mutations.guarantee import Guarantee, without

_POLICY: Final = "engine/redrive_engine/policy"
_LOOP: Final = "engine/redrive_engine/loop"
_RULES: Final = "tests/engine/test_policy.py"
_EDITS: Final = "tests/engine/test_edits.py"
_APPROVING: Final = "tests/engine/test_approving.py"
_LIVE: Final = "tests/engine/test_approving_live.py"
_DESK: Final = "examples/order_status/test_controls.py"
_ATTACKS: Final = "examples/order_status/test_injections.py"

POLICY: Final[tuple[Guarantee, ...]] = (
    without(
        f"{_POLICY}/question.py",
        "what no rule allows is denied",
        'NO_RULE = Ruling("deny", ',
        'NO_RULE = Ruling("allow", ',
        f"{_RULES}::test_a_call_is_allowed_only_by_a_rule_of_which_all_surely_holds",
    ),
    without(
        f"{_POLICY}/rules.py",
        "a value that is missing denies",
        "        if value is MISSING or against is MISSING:\n            return None\n",
        "        if value is MISSING or against is MISSING:\n            return False\n",
        f"{_RULES}::test_a_rule",
    ),
    without(
        f"{_POLICY}/rules.py",
        "what may match and cannot be said denies there and then",
        "            if found is not False and (ruling := rule.ruling(question, sure=found is True)) is not None:\n"
        "                return ruling\n",
        "            if found is True and (ruling := rule.ruling(question, sure=found is True)) is not None:\n"
        "                return ruling\n",
        f"{_RULES}::test_a_rule",
    ),
    without(
        f"{_POLICY}/rules.py",
        "what cannot be compared denies",
        "            return test(value, against)\n",
        "            return bool(test(value, against))\n",
        f"{_RULES}::test_a_rule",
    ),
    without(
        f"{_POLICY}/rules.py",
        "the first rule that matches decides",
        "        for rule in self._rules:\n            found = rule.matches(question)\n            if briefly",
        "        for rule in self._rules[::-1]:\n            found = rule.matches(question)\n            if briefly",
        f"{_RULES}::test_a_later_rule_never_changes_an_earlier_match",
    ),
    without(
        f"{_POLICY}/listed.py",
        "the first policy with an opinion decides",
        "        for one in self.policies:\n            if (found",
        "        for one in reversed(self.policies):\n            if (found",
        "tests/engine/test_policy_functions.py::test_the_first_opinion_of_a_list_decides",
    ),
    without(
        f"{_POLICY}/functions.py",
        "a function that raises denies",
        'found = _unjudged(f"raised {type(error).__name__}")',
        "found = allow()",
        "tests/engine/test_policy_functions.py::test_a_mistake_denies",
    ),
    without(
        f"{_POLICY}/functions.py",
        "a function that gives no ruling denies",
        'return _unjudged(f"gave no ruling but {type(found).__name__}")',
        "return allow()",
        "tests/engine/test_policy_functions.py::test_a_mistake_denies",
    ),
    without(
        f"{_POLICY}/cedar.py",
        "an allow of Cedar's with errors is a denial",
        'if errors and (decision == "Allow" or not found):',
        "if errors and not found:",
        "tests/engine/test_cedar.py::test_cedar",
    ),
    without(
        f"{_POLICY}/cedar.py",
        "what Cedar cannot be asked denies",
        '            return _denied(f"Cedar raised {type(error).__name__}")',
        '            return Ruling("allow", "", str(type(error)))',
        "tests/engine/test_cedar.py::test_whatever_is_asked_there_is_a_ruling",
    ),
    without(
        f"{_POLICY}/rules.py",
        "the model reads the same words of every doubt",
        "self._doubt(question), NOT_ALLOWED, read)",
        "self._doubt(question), self._doubt(question), read)",
        f"{_RULES}::test_a_doubt_has_the_common_words",
    ),
    without(
        f"{_POLICY}/paths.py",
        "what is not known to be a read is judged as a write",
        'return "read" if question.effect == "read" else "write"',
        'return "write" if question.effect == "write" else "read"',
        f"{_RULES}::test_what_is_not_known_to_be_a_read_is_judged_as_a_write",
    ),
    without(
        f"{_POLICY}/grants.py",
        "a tool that is not granted is denied",
        "if self._granted is not None and tool not in self._scopes:",
        "if False and self._granted is not None:",
        f"{_RULES}::test_the_contract_as_a_policy",
        f"{_ATTACKS}::test_a_tool_that_is_not_granted_stays_so",
    ),
    without(
        f"{_POLICY}/grants.py",
        "a scope that cannot be compared denies",
        "            if failing is None and not one.holds:\n",
        "            if failing is None and one.holds is False:\n",
        f"{_RULES}::test_the_contract_as_a_policy",
    ),
    without(
        f"{_POLICY}/grants.py",
        "an exclusion of which nobody can say whether it applies does",
        "if all(one.holds is not False for one in excluded):",
        "if all(one.holds is True for one in excluded):",
        f"{_RULES}::test_the_contract_as_a_policy",
    ),
    without(
        f"{_LOOP}/judge.py",
        "contract and policy must both allow",
        'asked = program.policy is not None and ruling.verdict == "allow"',
        "asked = program.policy is not None",
        f"{_DESK}::test_a_call_that_is_not_allowed_is_not_made",
    ),
    without(
        f"{_LOOP}/judge.py",
        "arguments that do not fit the tool are denied",
        "(problem := declared.problems(call.arguments)):",
        '(problem := ""):',
        f"{_EDITS}::test_a_change_that_does_not_fit_the_tool_is_denied",
    ),
    without(
        f"{_LOOP}/judge.py",
        "an argument that must not be made up is held against what was shown",
        "ruling = _grounded(s, declared, call) or ruling",
        "_grounded(s, declared, call)",
        f"{_ATTACKS}::test_what_stands_nowhere_as_such_is_not_grounded",
    ),
    without(
        f"{_LOOP}/judge.py",
        "an edited call is judged again",
        '        if ruling.verdict != "edit":\n            return\n',
        "        return\n",
        f"{_EDITS}::test_judging_comes_to_an_end",
    ),
    without(
        f"{_LOOP}/judge.py",
        "edits that undo each other come to a denial",
        'Ruling("deny", EDITED_OVER,',
        'Ruling("allow", EDITED_OVER,',
        f"{_EDITS}::test_edits_that_undo_each_other_are_a_denial",
    ),
    without(
        f"{_POLICY}/rules.py",
        "an edit that cannot be made is a denial",
        '            return Ruling("deny", written.name, change.doubt, NOT_ALLOWED, read)',
        '            return Ruling("allow", written.name, change.doubt, NOT_ALLOWED, read)',
        f"{_EDITS}::test_what_cannot_be_put_there_is_denied",
    ),
    without(
        f"{_LOOP}/calling.py",
        "if one call of a reply blocks the run, none starts",
        "    if s.running:\n        yield from _made(",
        "    if s.stop is None or s.stop.status:\n        yield from _made(",
        "tests/engine/test_invariants.py::test_every_append_of_every_run_keeps_the_rules_of_the_loop",
    ),
)

EGRESS: Final[tuple[Guarantee, ...]] = (
    without(
        "projections/redrive_projections/hosts.py",
        "a host is the whole of it, not its end",
        "return any(host == one or ",
        "return any(host.endswith(one) or ",
        f"{_ATTACKS}::test_a_list_of_domains_alone_holds",
    ),
    without(
        "projections/redrive_projections/hosts.py",
        "an address that could be read otherwise is at no host",
        "    for form in _FORMS:\n        if found := form.fullmatch(address):\n",
        "    for form in _FORMS:\n        if found := form.search(address):\n",
        f"{_ATTACKS}::test_a_list_of_domains_alone_holds",
        "tests/projections/test_hosts.py::test_where_an_address_leads",
    ),
    without(
        "projections/redrive_projections/hosts.py",
        "a masked value in an address may bring a host of its own",
        "known = not _MASKED.search(host) and (not _MASKED.search(user) or _MASKED_USER.fullmatch(user))",
        "known = True",
        "tests/projections/test_hosts.py::test_where_an_address_leads",
    ),
    without(
        "projections/redrive_projections/predicates.py",
        "a masked value may be the one that is denied",
        "return same(value, limit) or (None if may_be_same(value, limit) else False)",
        "return same(value, limit)",
        "tests/projections/test_masked.py::test_whether_a_masked_value_is_another",
        "tests/engine/masking/test_masked_runs.py::test_a_mask_gets_nothing_past_a_list_of_what_is_denied",
    ),
    without(
        "projections/redrive_projections/predicates.py",
        "a pattern says nothing of a value that is masked",
        "may_match(pattern, value) if is_masked(value) else pattern.fullmatch(value.encode()) is not None",
        "pattern.fullmatch(value.encode()) is not None",
        "tests/projections/test_masked.py::test_whether_a_masked_text_matches",
        "tests/engine/masking/test_masked_runs.py::test_a_mask_gets_nothing_past_a_list_of_what_is_denied",
    ),
    without(
        "projections/redrive_projections/hosts.py",
        "what cannot be told is at none of the hosts either",
        "return None if found is None else not found",
        "return not found",
        "tests/projections/test_hosts.py::test_where_an_address_leads",
    ),
    without(
        "projections/redrive_projections/hosts.py",
        "the host of a masked value is not known",
        "return host if known else None",
        "return host",
        "tests/projections/test_hosts.py::test_where_an_address_leads",
    ),
    without(
        f"{_LOOP}/judge.py",
        "the destination is what the tool calls so",
        "return _argument(call, declared.object), _argument(call, declared.destination)",
        "return _argument(call, declared.object), _argument(call, declared.object)",
        f"{_ATTACKS}::test_the_policy_alone_holds",
    ),
)

_PEOPLE: Final = "projections/redrive_projections/people.py"

APPROVALS: Final[tuple[Guarantee, ...]] = (
    without(
        f"{_LOOP}/calling.py",
        "nothing that a rule asks about starts before the answer",
        'asking = {one.call for one in verdicts if one.verdict == "ask"}',
        "asking = set()",
        f"{_LIVE}::test_nothing_starts_before_the_approval_and_then_at_once",
        f"{_ATTACKS}::test_nobody_is_approved_by_data",
    ),
    without(
        _PEOPLE,
        "an approval is bound to the digest of what was shown",
        "(request.call, request.digest) == (event.call, event.digest)",
        "request.call == event.call",
        f"{_APPROVING}::test_what_somebody_appends_all_the_same_counts_nothing",
    ),
    without(
        "engine/redrive_engine/approving.py",
        "an answer to another digest is refused",
        "not asked.digest.startswith(digest.lower())",
        "not digest",
        f"{_APPROVING}::test_what_is_no_answer_appends_nothing",
    ),
    without(
        _PEOPLE,
        "an approval after its time is none",
        "event.call in state.calls and not expired(request, state.now):",
        "event.call in state.calls:",
        f"{_APPROVING}::test_an_answer_after_its_time_is_none",
    ),
    without(
        _PEOPLE,
        "the time is over from the moment that was said",
        "at >= until",
        "at > until",
        f"{_APPROVING}::test_an_answer_after_its_time_is_none",
    ),
    without(
        _PEOPLE,
        "an approval counts once",
        "            del state.requests[place]\n            state.unheard.append(event)\n\n\ndef doubts_of",
        "            state.unheard.append(event)\n\n\ndef doubts_of",
        f"{_APPROVING}::test_the_second_answer_is_none",
    ),
    without(
        f"{_LOOP}/calling.py",
        "no answer in time is a denial",
        'Ruling("deny", EXPIRED,',
        'Ruling("allow", EXPIRED,',
        f"{_LIVE}::test_nobody_answers_in_time",
    ),
    without(
        f"{_LOOP}/calling.py",
        "a refusal is a denial",
        'Ruling("deny", NOT_APPROVED,',
        'Ruling("allow", NOT_APPROVED,',
        f"{_LIVE}::test_what_is_refused_never_starts",
    ),
    without(
        f"{_LOOP}/calling.py",
        "what was approved is judged again, and a denial stands",
        'answered = ruled.verdict == "ask" and',
        "answered = ",
        f"{_APPROVING}::test_an_answer_is_heard_and_the_call_judged_again",
        f"{_DESK}::test_a_call_that_is_not_allowed_is_not_made",
    ),
    without(
        f"{_LOOP}/calling.py",
        "what a person was not shown is asked about again",
        'answered = ruled.verdict == "ask" and wanted == _shown(program, call)',
        'answered = ruled.verdict == "ask"',
        f"{_DESK}::test_a_person_is_asked_again_about_what_they_were_not_shown",
    ),
    without(
        "projections/redrive_projections/folding.py",
        "a stop closes what people are asked",
        "        if type(request) in OF_PEOPLE:\n            del state.requests[place]\n    under_way",
        "        if not request:\n            del state.requests[place]\n    under_way",
        f"{_APPROVING}::test_a_stop_closes_what_is_asked",
    ),
    without(
        f"{_LOOP}/react.py",
        "a cancellation is heard before an approval",
        "    yield from cancelled(s)\n    yield from overdue(program, s)\n    for signal in s.hearing:\n"
        "        yield from heard(program, s, signal)\n",
        "    yield from overdue(program, s)\n    for signal in s.hearing:\n"
        "        yield from heard(program, s, signal)\n    yield from cancelled(s)\n",
        f"{_APPROVING}::test_a_cancellation_is_heard_before_an_approval",
    ),
    without(
        "projections/redrive_projections/folding.py",
        "waiting for a person takes no time of the run",
        "    return bool(state.requests)\n",
        "    return False\n",
        f"{_APPROVING}::test_waiting_for_an_approval_takes_no_time_of_the_run",
    ),
    without(
        _PEOPLE,
        "words are no approval",
        "    if type(request) is not PersonAsked:\n        return False\n",
        "    if type(request) is not PersonAsked:\n        return True\n",
        f"{_LIVE}::test_words_are_no_approval",
    ),
)
