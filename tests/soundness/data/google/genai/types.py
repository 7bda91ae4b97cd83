"""Settings as dicts, so that they are recorded as they would go over the wire."""

CreateCachedContentConfig = GenerateContentConfig = dict
