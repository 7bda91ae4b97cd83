"""What outlives a call: attributes, module-level names, stores, sessions, memories, and what switches them."""
