"""The table of a run of a peer's tests: python summary.py SHIM WHAT, beside outcomes-*.json. Exits
with 1 if a test fails without a reason, or passes against one."""

import collections
import importlib
import json
import pathlib
import re
import sys

shim = importlib.import_module(sys.argv[1])
outcomes = {}
for part in pathlib.Path.cwd().glob("outcomes-*.json"):
    outcomes |= json.loads(part.read_text(encoding="utf-8"))
counts = collections.Counter(outcomes.values())
by_reason, wrong = collections.Counter(), []
for name, outcome in sorted(outcomes.items()):
    reasons = [reason for pattern, reason in shim.REASONS.items() if re.search(pattern, name)]
    if outcome == "failed":
        by_reason[reasons[0] if reasons else "FAILED WITHOUT A REASON"] += 1
    if outcome == "failed" and not reasons or outcome == "passed" and reasons:
        wrong.append(f"{outcome}: {name}")
print(f"{sys.argv[2]}, by `scripts/evidence/python-peers`:\n")
print("| tests | what |\n| ---: | --- |")
print(f"| {counts['passed']:,} | pass |")
for reason, count in by_reason.most_common():
    print(f"| {count:,} | {reason} |")
if counts["impossible"]:
    print(f"| {counts['impossible']:,} | {shim.IMPOSSIBLE} |")
if counts["skipped"]:
    print(f"| {counts['skipped']:,} | {shim.SKIPPED} |")
for line in wrong[:20]:
    print(line, file=sys.stderr)
sys.exit(bool(wrong))
