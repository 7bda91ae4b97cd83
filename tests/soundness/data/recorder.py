"""Request bodies as they would go over the wire, by conversation."""

import copy

bodies = []
conversation = 0
sent = 0
tick = None  # called after each request: time goes by until the next one


def record(api, body):
    global sent
    sent += 1
    bodies.append({"api": api, "conversation": conversation, "body": copy.deepcopy(body)})
    tick()
    return f"Reply {sent}: yes."
