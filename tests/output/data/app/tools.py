SEARCH = {"name": "search"}
REFUND = {"name": "refund"}

if True:
	TOOLS = list({"😀 é": SEARCH, "日本": REFUND}.values() | set())	# tab, emoji and wide characters
