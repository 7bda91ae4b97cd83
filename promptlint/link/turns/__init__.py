"""Lists of turns: what is added, dropped, marked, rewritten or sent in another form, and when."""
