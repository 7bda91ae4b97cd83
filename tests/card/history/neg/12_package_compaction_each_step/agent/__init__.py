"""An agent that repairs spreadsheets."""
