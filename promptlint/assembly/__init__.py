"""From a call that sends a request to the request: its arguments in each calling context, in wire order."""
