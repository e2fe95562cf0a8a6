"""The scale rules' lines of smallfloat-tensor's scale/rule.rs, put into probe_scale.rs:
cut_scale.py RULE.RS PROBE > RESULT."""

import re
import sys


def one(pattern, text, what):
    """The only match of a pattern."""
    found = re.findall(pattern, text, re.M | re.S)
    if len(found) != 1:
        sys.exit(f"{what}: {len(found)} places in rule.rs look like it")
    return found[0]


def main():
    source, probe = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
    rules = one(r"^#\[derive[^\n]*\]\npub enum ScaleRule \{.*?^\}", source, "the rules")
    arm = one(r"^ {12}rule => \{\n {16}let \(amax, max\).*?^ {12}\}", source, "the arm of the powers of two")
    split = one(r"^struct Split \{.*?^\}\n\nimpl Split \{.*?^\}", source, "Split")
    power = one(r"^pub\(crate\) fn power\(exponent: i32\).*?^\}", source, "power")
    for mark, text in (("rules", rules), ("arm", arm), ("helpers", f"{split}\n\n{power}")):
        if probe.count(f"//@ {mark}") != 1:
            sys.exit(f"the probe has no place for {mark}")
        probe = probe.replace(f"//@ {mark}", text)
    sys.stdout.write(probe)


if __name__ == "__main__":
    main()
