ENABLED = ["read_meter", "close_valve", "open_valve", "page_engineer"]
