"""The probe against a real engine: a program with planted faults and sound calls, each verdict and each count checked.

    python -m benchmarks.engines.verdicts                                                # llama.cpp, started here
    python -m benchmarks.engines.verdicts --provider vllm --base http://127.0.0.1:8082   # a server that runs

The program is tests/probe/data/shop.py. It is run without a network, and what differs between its runs is then sent to
the engine through the SDKs of OpenAI (Chat Completions and Responses) and Anthropic (Messages). Start a server anew, or
empty its cache, before each run.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from benchmarks.engines.llama import Llama, server
from promptlint.probe import engine, plan, program
from promptlint.probe.claims import Claim
from promptlint.probe.execute import Result, run
from promptlint.probe.send import Sender
from promptlint.probe.twice import Stage
from promptlint.probe.verdict import Verdict

SHOP = Path(__file__).parents[2] / "tests" / "probe" / "data" / "shop.py"


def listed(name: str) -> set[str]:
    """The functions in a tuple of the program, which is not imported here."""
    for node in ast.parse(SHOP.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return {ast.unparse(item) for item in ast.walk(node.value) if isinstance(item, ast.Name)}
    raise ValueError(f"{SHOP} has no {name}")


def examined(provider: str) -> list[Claim]:
    """What is expected of each call of the program, from its runs without a network."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "shop"
        folder.mkdir()
        shutil.copy(SHOP, folder)
        with Stage("shop:everything", folder) as stage:
            made, _ = program.examine(stage, [], program.reader(provider, None), lambda *_: None)
        if stage.notes:
            raise RuntimeError("; ".join(stage.notes))
    return made


def sent(made: Sequence[Claim], address: str) -> Result:
    """What the engine at an address says to these claims."""
    planned = plan.make(made, base_url=address)
    asked = engine.asked(planned)
    if asked is None:
        raise RuntimeError("the claims are about no engine")
    return run(asked.fitted(planned), Sender(), lambda *_: None, asked.count)


def function(claim: Claim) -> str:
    """The function of the program that a claim is about."""
    if claim.pair is None:
        return claim.site
    return claim.pair.first.exchange.stack[0].function


def wrong(verdicts: Sequence[Verdict]) -> list[str]:
    """A line for each verdict, and for each count of tokens, that is not as it should be."""
    right = dict.fromkeys(listed("FAULTS"), "confirmed") | dict.fromkeys(listed("SOUND"), "refuted")
    lines = [f"no verdict on {name}" for name in sorted(right.keys() - {function(v.claim) for v in verdicts})]
    for verdict in verdicts:
        name = function(verdict.claim)
        if verdict.ruling.value != right.get(name):
            lines.append(f"{name} is {verdict.ruling.value}, and should be {right.get(name)}: {verdict.reason}")
        for reading in verdict.readings:
            predicted, reported = (reading.predicted, reading.predicted_total), (reading.read, reading.total)
            if predicted != reported:
                lines.append(f"{name}, {reading.purpose}: predicted {predicted}, reported {reported}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provider", choices=("llama_cpp", "vllm"), default="llama_cpp")
    parser.add_argument("--base", help="the server; without it, llama.cpp is started")
    options = parser.parse_args()
    started = time.monotonic()
    made = examined(options.provider)
    with nullcontext(Llama(options.base)) if options.base else server(1) as running:
        result = sent(made, running.address)
    lines = wrong(result.verdicts)
    readings = sum(len(verdict.readings) for verdict in result.verdicts)
    print(
        f"{options.provider}: {len(listed('FAULTS'))} faults and {len(listed('SOUND'))} sound calls, "
        f"{result.sent} requests, {readings} counts compared, {len(lines)} not as they should be, "
        f"{time.monotonic() - started:.0f} s"
    )
    for line in lines:
        print(f"  {line}")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
