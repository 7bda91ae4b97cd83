"""``junit``: JUnit XML, which nearly every CI service shows as test results; a file is a suite, a finding a failure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from xml.etree import ElementTree

from promptlint.finding import Finding
from promptlint.output.words import first_line, in_file, paragraphs, place, plain, spot
from promptlint.report import Problem, Report

_NO_XML = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
"""Not allowed in XML 1.0; the control characters that are not either are replaced by ``plain``."""


def _clean(text: str) -> str:
    return plain(text).translate(_NO_XML)


def _case(suite: ElementTree.Element, path: str, name: str, line: int) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", name=name, classname=path, file=path, line=str(line))


def _finding(suite: ElementTree.Element, path: str, finding: Finding) -> None:
    span = finding.primary
    # Services show one test of each name, so the place belongs to the name.
    case = _case(suite, path, f"{finding.rule} at {span.at}:{span.column}", in_file(span).line)
    if finding.suppressed is not None:
        ElementTree.SubElement(case, "skipped", message=_clean(finding.suppressed) or "suppressed by a comment")
        return
    message, kind = _clean(finding.message), str(finding.severity)
    body = [f"{path}:{span.at}:{span.column}", *map(_clean, paragraphs(finding)[1:])]
    body += [
        f"{number}. {_clean(spot(step.span))}: {_clean(step.message)}" for number, step in enumerate(finding.flow, 1)
    ]
    ElementTree.SubElement(case, "failure", message=message, type=kind).text = "\n".join(body)


def _problem(suite: ElementTree.Element, path: str, problem: Problem) -> None:
    case = _case(suite, path, "readable", first_line(problem))
    ElementTree.SubElement(case, "error", message=f"not checked: {_clean(problem.message)}", type="unreadable")


def _counted(element: ElementTree.Element) -> None:
    counts = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, tag in counts.items():
        element.set(name, str(len(list(element.iter(tag)))))


def render(report: Report, shown: Sequence[Finding]) -> str:
    """One suite a file with findings; suppressed findings are skipped tests, unreadable inputs are errors.

    Without any of these there is one passed test, since CI services take an empty report for a mistake.
    """
    by_path: defaultdict[str, tuple[list[Finding], list[Problem]]] = defaultdict(lambda: ([], []))
    for finding in shown:
        by_path[place(finding.primary.path)][0].append(finding)
    for problem in report.problems:
        by_path[place(problem.path)][1].append(problem)
    root = ElementTree.Element("testsuites", name="promptlint")
    for name, (findings, problems) in sorted(by_path.items()):
        path = _clean(name)
        suite = ElementTree.SubElement(root, "testsuite", name=path)
        for finding in findings:
            _finding(suite, path, finding)
        for problem in problems:
            _problem(suite, path, problem)
        _counted(suite)
    if not by_path:
        suite = ElementTree.SubElement(root, "testsuite", name="promptlint")
        ElementTree.SubElement(suite, "testcase", name="no finding", classname="promptlint")
        _counted(suite)
    _counted(root)
    ElementTree.indent(root)
    # Character references for all beyond ASCII: the text survives any terminal or pipe encoding.
    written: bytes = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True)
    return written.decode("ascii") + "\n"
