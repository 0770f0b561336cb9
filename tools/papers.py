"""Run the papers again and write what follows from it: the verdicts that are kept, and the tables of the documents.

    python tools/papers.py               all of them, about three minutes
    python tools/papers.py mata2002      one of them

`src/armwright/study/papers/expected.toml` gets the verdict of every finding that is not timed; look at the difference
before it is committed. Every document in docs/papers gets its table of findings between two marks.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from armwright.study import papers
from armwright.study.papers import PaperStudy
from armwright.study.papers.document import with_findings

ROOT = Path(__file__).parent.parent
EXPECTED = ROOT / "src" / "armwright" / "study" / "papers" / "expected.toml"
HEAD = "# Verdicts that held when they were last looked at: armwright reproduce exits with 1 when one gets worse."
PEERS = "# holds where the two are installed"


def kept(study: PaperStudy) -> dict[str, str]:
    """What a peer says is not counted on: it may not be installed."""
    found = {f.key: f.verdict.value for f in study.findings if not f.timed}
    return {key: "not checkable" if is_peer(key) else verdict for key, verdict in found.items()}


def is_peer(key: str) -> bool:
    return key.endswith(("in Pinocchio", "in MuJoCo"))


def written(verdicts: dict[str, dict[str, str]]) -> str:
    lines = [HEAD]
    for paper in papers.PAPERS:
        lines += ["", f"[{paper}]"]
        for key, verdict in verdicts[paper].items():
            if is_peer(key) and PEERS not in lines:
                lines.append(PEERS)
            lines.append(f'"{key}" = "{verdict}"')
    return "\n".join(lines) + "\n"


def main() -> None:
    verdicts = tomllib.loads(EXPECTED.read_text())
    for paper in sys.argv[1:] or papers.PAPERS:
        study = papers.study(paper)
        verdicts[paper] = kept(study)
        document = ROOT / "docs" / "papers" / f"{paper}.md"
        document.write_text(with_findings(document.read_text(), study))
        print(f"{paper}: {len(study.findings)} findings")
    EXPECTED.write_text(written(verdicts))


if __name__ == "__main__":
    main()
