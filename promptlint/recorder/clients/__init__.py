"""How each HTTP library tells of its requests: one module a library, each with a ``hook`` that changes its classes.

A hook is called once, when the program has imported the library. Outside a recording the changed functions pass
everything on.
"""
