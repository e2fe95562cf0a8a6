"""The table of a run of ml_dtypes' tests: python summary.py outcomes.json VERSION. Exits with 1 if a test fails without a
reason, or passes against one."""

import collections
import json
import re
import sys

from ml_dtypes_shim import REASONS

outcomes = json.load(open(sys.argv[1], encoding="utf-8"))
counts = collections.Counter(outcomes.values())
by_reason, wrong = collections.Counter(), []
for name, outcome in sorted(outcomes.items()):
    reasons = [reason for pattern, reason in REASONS.items() if re.search(pattern, name)]
    if outcome == "failed":
        by_reason[reasons[0] if reasons else "FAILED WITHOUT A REASON"] += 1
    if outcome == "failed" and not reasons or outcome == "passed" and reasons:
        wrong.append(f"{outcome}: {name}")
print(f"`custom_float_test.py` of ml_dtypes {sys.argv[2]}, 12 types, by `scripts/evidence/python-peers`:\n")
print("| tests | what |\n| ---: | --- |")
print(f"| {counts['passed']:,} | pass |")
for reason, count in by_reason.most_common():
    print(f"| {count:,} | {reason} |")
print(f"| {counts['needs a dtype']:,} | ask for a dtype registered with NumPy, which an `Array` has not |")
print(f"| {counts['skipped']:,} | skipped by ml_dtypes for the type |")
for line in wrong[:20]:
    print(line, file=sys.stderr)
sys.exit(bool(wrong))
