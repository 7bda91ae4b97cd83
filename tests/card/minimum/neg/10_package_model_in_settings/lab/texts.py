METHODS = "Weigh the crucible empty, then full, then after each hour in the oven. " * 120
