ROLE = "You name the key, the metre and the tempo of a piece of music. " * 250
