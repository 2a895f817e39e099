"""Traces that the real SDKs write, with fake models: ``python -m tests.renew_traces``, where these are installed.

The SDK is needed for the renewal alone: ``pip install inspect_ai``. Ids and times are new each time; all else is read
in the diff.
"""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

LOGS = Path(__file__).with_name("fixtures") / "traces" / "inspect"


def renew_inspect() -> None:
    """Two samples of a shop's clerk who looks up the stock, one of them right: as an archive, and as one object."""
    inspect: Any = import_module("inspect_ai")
    solver: Any = import_module("inspect_ai.solver")
    dataset: Any = import_module("inspect_ai.dataset")
    model: Any = import_module("inspect_ai.model")
    scorer: Any = import_module("inspect_ai.scorer")
    tool: Any = import_module("inspect_ai.tool")

    def stock() -> Any:
        async def execute(item: str) -> str:
            """Say how many of an item are in stock.

            Args:
                item: What to look up.
            """
            if item != "rye":
                raise tool.ToolError(f"no shelf for {item}")
            return "12 loaves ☕"

        return execute

    output = model.ModelOutput
    replies = [
        output.for_tool_call("mockllm/model", "stock", {"item": "rye"}),
        output.from_content("mockllm/model", "There are 12."),
        output.for_tool_call("mockllm/model", "stock", {"item": "oats"}),
        output.from_content("mockllm/model", "I cannot say."),
    ]
    for number, one in enumerate(replies):  # without, they are counted by what has to be fetched from elsewhere
        one.usage = model.ModelUsage(input_tokens=20 + number, output_tokens=5, total_tokens=25 + number)
    task = inspect.Task(
        name="stock",
        dataset=[
            dataset.Sample(id=1, input="How much rye is there?", target="12"),
            dataset.Sample(id=2, input="How many oats are there?", target="7"),
        ],
        solver=[
            solver.system_message("Be brief."),
            solver.use_tools(tool.tool(name="stock")(stock)()),
            solver.generate(),
        ],
        scorer=scorer.includes(),
    )
    for kind in ("eval", "json"):
        with tempfile.TemporaryDirectory() as folder:
            made = model.get_model("mockllm/model", custom_outputs=list(replies), memoize=False)
            here = Path.cwd()
            os.chdir(folder)  # what a log says of the folder it was made in is nobody's
            try:
                inspect.eval(task, model=made, log_dir=folder, log_format=kind, display="none", max_samples=1)
            finally:
                os.chdir(here)
            (written,) = Path(folder).glob(f"*.{kind}")
            (LOGS / f"written.{kind}").write_bytes(written.read_bytes())


def main() -> None:
    """Write all of them anew."""
    renew_inspect()


if __name__ == "__main__":
    main()
