"""What one file says by itself: its index, and summaries of its bodies as expressions."""
