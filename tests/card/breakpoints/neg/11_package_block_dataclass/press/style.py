from .blocks import Block

NAMES = Block("Names are given in full at the first mention and by surname after it. " * 60)
NUMBERS = Block("Numbers up to twelve are spelled out, unless they are measurements. " * 60, cached=True)
QUOTES = Block("A quotation is never changed, and an omission is shown by three dots. " * 60)
TITLES = Block("A title has no more than eight words and says what happened. " * 60)
SOURCES = Block("A source is named, or the editor knows the name. " * 60, cached=True)
GUIDE = [NAMES, NUMBERS, QUOTES, TITLES, SOURCES]
