"""The service desk of a bicycle shop: a chat assistant with tools, on the web and in the terminal."""
