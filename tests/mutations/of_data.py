"""What is guaranteed of observations, and of what is masked."""

from __future__ import annotations

from typing import Final

from tests.mutations.guarantee import Guarantee, without

_VERIFYING: Final = "engine/redrive_engine/loop/verifying.py"
_BOUNDS: Final = "engine/redrive_engine/envelope.py"
_EXECUTION: Final = "engine/redrive_engine/execution.py"
_ASKING: Final = "engine/redrive_engine/live/asking.py"
_ENVELOPE: Final = "tests/engine/test_envelope.py"
_MASKING: Final = "engine/redrive_engine/masking"
_MASKED: Final = "tests/engine/masking/test_masked_runs.py"
_MASK: Final = "tests/engine/masking/test_mask.py"
_NO_BYTE: Final = "tests/cli/test_masking.py::test_what_is_masked_is_in_no_byte"

ENVELOPE: Final[tuple[Guarantee, ...]] = (
    without(
        _VERIFYING,
        "an observation of another tenant is refused",
        "if seen.tenant and seen.tenant != tenant:",
        "if seen.tenant and seen.tenant == '':",
        f"{_ENVELOPE}::test_an_observation_of_another_tenant_fails_the_run",
        "examples/order_status/test_controls.py::test_what_may_not_be_used_is_refused",
    ),
    without(
        _VERIFYING,
        "another tenant's data always fails the run",
        "fail=refusal.text == FOREIGN or",
        "fail=",
        f"{_ENVELOPE}::test_an_observation_of_another_tenant_fails_the_run",
    ),
    without(
        _VERIFYING,
        "data that is too old is refused",
        "    if abs(s.now - seen.as_of) <= timedelta(milliseconds=fresh_ms):\n",
        "    if seen.as_of <= s.now or abs(s.now - seen.as_of) <= timedelta(milliseconds=fresh_ms):\n",
        f"{_ENVELOPE}::test_stale_data_is_refused",
        "examples/order_status/test_controls.py::test_what_may_not_be_used_is_refused",
    ),
    without(
        _VERIFYING,
        "data that is yet to come is refused",
        "if abs(s.now - seen.as_of) <= ",
        "if s.now - seen.as_of <= ",
        f"{_ENVELOPE}::test_stale_data_is_refused",
    ),
    without(
        _VERIFYING,
        "what a write shows beyond the limits is not used",
        'if seen.error == "limits":',
        'if seen.error == "none":',
        f"{_ENVELOPE}::test_what_was_reconciled_is_held_against_the_same",
    ),
    without(
        _BOUNDS,
        "what is nested too deeply is not let in",
        "if _is_deeper(plain, self.depth_max):",
        "if _is_deeper(plain, 9_999):",
        f"{_ENVELOPE}::test_what_breaks_a_limit_is_not_let_in",
    ),
    without(
        _BOUNDS,
        "what is of no allowed type is not let in",
        "if self.media_types and not any(",
        "if not self.media_types and not any(",
        f"{_ENVELOPE}::test_what_breaks_a_limit_is_not_let_in",
    ),
    without(
        _BOUNDS,
        "what was sent elsewhere too often is not let in",
        "if redirects > self.redirects_max:",
        "if redirects > 9_999:",
        f"{_ENVELOPE}::test_what_breaks_a_limit_is_not_let_in",
    ),
    without(
        _BOUNDS,
        "of a list so many rows are let in",
        "return plain[: self.rows_max] if",
        "return plain[:] if",
        f"{_ENVELOPE}::test_what_keeps_the_limits_is_let_in",
    ),
    without(
        _EXECUTION,
        "so many bytes are let in",
        "kept = cut_text(text, tool.declaration.output_max_bytes)",
        "kept = text",
        "tests/engine/test_execution.py::test_what_was_cut_is_recorded",
    ),
    without(
        _EXECUTION,
        "what a source says of its type is masked",
        "media_type = door.text(seen.media_type)",
        "media_type = seen.media_type",
        _NO_BYTE,
    ),
    without(
        _EXECUTION,
        "what a source says of its version is masked",
        "schema_version=door.text(seen.schema_version)",
        "schema_version=seen.schema_version",
        _NO_BYTE,
    ),
    without(
        _ASKING,
        "a tool is handed the tenant",
        "tenant=waiting.started.tenant,",
        'tenant="",',
        "examples/order_status/test_order_status.py::test_the_run_ends",
    ),
    without(
        _EXECUTION,
        "the trust of an observation is what its tool declares",
        "tenant=seen.tenant,\n        trust=declared.trust,",
        'tenant=seen.tenant,\n        trust="trusted",',
        "examples/order_status/test_controls.py::test_what_is_known_of_the_order",
    ),
)

MASKING: Final[tuple[Guarantee, ...]] = (
    without(
        _EXECUTION,
        "a text is masked before it is cut",
        '_cut(tool, "ok", masked_text(door, plain))',
        '_cut(tool, "ok", masked_text(door, cut_text(plain, declared.output_max_bytes)))',
        f"{_MASKED}::test_what_is_cut_was_masked_before",
    ),
    without(
        _EXECUTION,
        "data is masked before it is cut",
        "        plain = door.json(plain)\n",
        "        plain = plain if len(canonical(plain)) > declared.output_max_bytes else door.json(plain)\n",
        f"{_MASKED}::test_what_is_cut_was_masked_before",
    ),
    without(
        _EXECUTION,
        "what a tool says of an error is masked",
        "return _cut(tool, status, door.text(mended(text)))",
        "return _cut(tool, status, mended(text))",
        _NO_BYTE,
    ),
    without(
        _ASKING,
        "a reply is masked",
        "return masked_event(means.door, _recordable(await means.model.ask(question)))",
        "return _recordable(await means.model.ask(question))",
        _NO_BYTE,
    ),
    without(
        "engine/redrive_engine/agent.py",
        "the goal of a run is masked before it is begun",
        "            event = masked_event(door, started)\n",
        "            event = started\n",
        _NO_BYTE,
    ),
    without(
        "engine/redrive_engine/signals.py",
        "what strangers say is masked",
        "    if says_something(event):\n",
        "    if not event:\n",
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/masked.py",
        "labels are masked",
        '"environment", "labels",',
        '"environment",',
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/masked.py",
        "the reason of a cancellation is masked",
        '    CancelRequested: ("reason",),\n',
        "",
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/masked.py",
        "what a person puts into a call is masked",
        'ApprovalGiven: ("arguments", "reason"),',
        'ApprovalGiven: ("reason",),',
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/masked.py",
        "why a person answered so is masked",
        'ApprovalGiven: ("arguments", "reason"),',
        'ApprovalGiven: ("arguments",),',
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/masked.py",
        "the lessons of earlier runs are masked",
        '"labels", "lessons", "known")',
        '"labels", "known")',
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/masked.py",
        "what a person says became of an effect is masked",
        '    OutcomeStated: ("content",),\n',
        "",
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/masked.py",
        "why a person says so is masked",
        '    OutcomeStated: ("reason",),\n',
        "",
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/masked.py",
        "the reason of a revocation is masked",
        '    LeaseRevoked: ("reason",),\n',
        "",
        f"{_MASKED}::test_why_a_run_was_revoked_is_masked",
    ),
    without(
        f"{_MASKING}/masked.py",
        "a remark on a run is masked",
        '    AnnotationMade: ("value",),\n',
        "",
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/masked.py",
        "what people say is masked",
        '    MessageReceived: ("content",),\n',
        "",
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/blocks.py",
        "a signed block is sealed whole",
        'Thinking(text=door.whole(whole), signature="sealed") if door.finds(whole) else block',
        "block",
        f"{_MASKED}::test_a_signed_block_goes_back_unaltered",
    ),
    without(
        _EXECUTION,
        "the source that a result names is masked",
        "source = door.text(seen.source) or declared.source",
        "source = seen.source or declared.source",
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/blocks.py",
        "the arguments of a call are masked",
        "return msgspec.structs.replace(block, arguments=masked_text(door, block.arguments))",
        "return block",
        _NO_BYTE,
    ),
    without(
        f"{_MASKING}/blocks.py",
        "halves of a value in two pieces come together",
        "for block in _joined(door, content))",
        "for block in content)",
        f"{_MASKED}::test_halves_of_a_value_in_two_pieces_come_together",
    ),
    without(
        f"{_MASKING}/door.py",
        "what is masked already is not masked again",
        "return list(_beside(self._mask.placed(plain), ",
        "return list(_beside((), ",
        f"{_MASK}::test_masking_masked_text_changes_nothing",
    ),
    without(
        f"{_MASKING}/mask.py",
        "two spellings of a value are one placeholder",
        "normal, kept = (kind.normal(value), kind.kept(value))",
        "normal, kept = (value, kind.kept(value))",
        f"{_MASK}::test_all_spellings_of_a_value_are_one_placeholder",
    ),
    without(
        f"{_MASKING}/mask.py",
        "two tenants have two placeholders for a value",
        "canonical([tenant, name, normal])",
        "canonical([name, normal])",
        f"{_MASK}::test_a_placeholder_tells_nothing_of_its_value_to_others",
    ),
    without(
        f"{_MASKING}/door.py",
        "a placeholder of another run opens nothing",
        "canonical([self._tenant, self._scope, token])",
        "canonical([self._tenant, token])",
        f"{_MASKED}::test_a_placeholder_of_another_run_opens_nothing",
        f"{_MASK}::test_only_its_own_run_opens_a_placeholder",
    ),
    without(
        f"{_MASKING}/door.py",
        "a call whose value is lost is not started",
        "            if end == one.bare:\n                raise SealedValueLost\n",
        "            if end == one.bare:\n                return text[one.start : end], end\n",
        f"{_MASKED}::test_a_placeholder_of_another_run_opens_nothing",
        f"{_MASK}::test_a_forged_placeholder_opens_nothing_and_is_left_as_it_is",
    ),
    without(
        f"{_MASKING}/door.py",
        "a value that somebody put into the vault opens nothing",
        "        except (InvalidTag, ValueError, BadInput) as error:  # somebody has put something else there\n"
        "            raise SealedValueLost from error\n",
        '        except (InvalidTag, ValueError, BadInput):\n            return sealed.decode(errors="replace")\n',
        f"{_MASK}::test_a_value_that_somebody_put_there_opens_nothing",
    ),
    without(
        f"{_MASKING}/door.py",
        "only a worker with the key takes a masked run up",
        'if key_id.rpartition(":")[2] != started.mask_key.rpartition(":")[2]:',
        "if not started.agent:",
        f"{_MASKED}::test_only_a_worker_with_the_key_takes_a_masked_run",
    ),
    without(
        f"{_MASKING}/door.py",
        "a value is in the vault before anything speaks of it",
        "                self._mask.vault.put(self._fresh)\n                self._fresh = {}\n",
        "                pass\n",
        f"{_MASKED}::test_a_crash_before_the_write_that_needs_the_value",
    ),
    without(
        f"{_MASKING}/door.py",
        "a credential is known again by its value alone",
        "        if self._tells_by_value(name):\n            self._remember(plain or value, token)\n",
        "",
        f"{_MASK}::test_a_credential_is_known_again_by_its_value_alone",
    ),
    without(
        f"{_MASKING}/door.py",
        "a later worker knows a credential again",
        "                self._remember(plain_of(value).text, token[:end])\n",
        "                pass\n",
        f"{_MASKED}::test_a_credential_is_known_again_by_a_later_worker",
    ),
    without(
        f"{_MASKING}/mask.py",
        "what stands in place of an address keeps its domain to be judged",
        'return f"masked-{name}-{print_}" + (',
        'return f"masked-{name}-{print_}" + "" * len(',
        f"{_MASKED}::test_a_policy_judges_the_domain_of_an_address",
    ),
    without(
        f"{_MASKING}/vault.py",
        "a vault keeps what was put first",
        "INSERT OR IGNORE INTO sealed",
        "INSERT OR REPLACE INTO sealed",
        f"{_MASK}::test_a_vault_keeps_what_was_put_first",
    ),
    without(
        f"{_MASKING}/vault.py",
        "only its owner reads a vault",
        "os.O_CREAT | os.O_RDWR, 0o600)",
        "os.O_CREAT | os.O_RDWR, 0o644)",
        f"{_MASK}::test_a_vault_keeps_what_was_put_first",
    ),
)
