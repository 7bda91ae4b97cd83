"""The marker that a fix adds for Bedrock Converse: what botocore sends before it and after it, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from promptlint import cli

PROGRAM = """\
import boto3

client = boto3.client(
    "bedrock-runtime", region_name="eu-west-1", aws_access_key_id="none", aws_secret_access_key="none"
)
RULES = "Turn the screw to the left. " * 600
turns = []
for question in ("How long?", "How often?", "Which tool?"):
    turns.append({"role": "user", "content": [{"text": question}]})
    reply = client.converse(
        modelId="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        system=[{"text": RULES}],
        messages=turns,
    )
    turns.append(reply["output"]["message"])
"""
BLOCKS = """\
import boto3

client = boto3.client(
    "bedrock-runtime", region_name="eu-west-1", aws_access_key_id="none", aws_secret_access_key="none"
)
RULES = "Turn the screw to the left. " * 600
request = {
    "modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "system": [
        {"text": "You are a help desk."},
        {"text": RULES},  # all of them
    ],
}
for question in ("How long?", "How often?", "Which tool?"):
    client.converse(**request, messages=[{"role": "user", "content": [{"text": question}]}])
"""
RUNNER = """\
import io, json, runpy, sys

from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session


class Raw(io.BytesIO):
    def stream(self, **_):
        yield self.read()


def send(self, request):
    print(request.body.decode() if isinstance(request.body, bytes) else request.body)
    message = {"role": "assistant", "content": [{"text": "Twice."}]}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    body = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}
    return AWSResponse(request.url, 200, {"content-type": "application/json"}, Raw(json.dumps(body).encode()))


URLLib3Session.send = send
runpy.run_path(sys.argv[1])
"""
MARKER = {"cachePoint": {"type": "default"}}


def sent(file: Path) -> list[dict[str, Any]]:
    """The bodies that botocore makes, and finds valid, of what a program sends."""
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(file)], capture_output=True, text=True, check=True, cwd=file.parent
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("text", [PROGRAM, BLOCKS])
def test_requests_share_what_is_marked_and_nothing_else_changed(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "main.py"
    file.write_text(text)
    before = sent(file)
    cli.run(["check", "main.py", "--output-format", "concise"])
    assert "missing-breakpoint" in capsys.readouterr().out
    cli.run(["check", "--fix", "--unsafe-fixes", "main.py"])
    assert "missing-breakpoint" not in capsys.readouterr().out.replace("Fixed", "")
    after = sent(file)
    assert len(before) == len(after) == 3
    assert all(request["system"][-1] == MARKER for request in after)
    assert [{**request, "system": request["system"][:-1]} for request in after] == before
    assert len({json.dumps(request["system"]) for request in after}) == 1
