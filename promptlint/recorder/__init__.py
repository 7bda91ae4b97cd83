"""Records the requests that a program makes to language models, from inside the program and without disturbing it.

``promptlint record -- COMMAND`` and ``promptlint.record(path)`` put hooks into the HTTP libraries that the program
imports, and nothing that goes wrong in a hook reaches the program. Everything here and in the modules of
``promptlint.trace`` that it uses needs the standard library only: it is loaded by path into the interpreter of the
program, which need not have promptlint installed.
"""
