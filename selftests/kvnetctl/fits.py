# SPDX-License-Identifier: GPL-2.0
"""Does what kvnetctl printed fit its schema?

python3 fits.py LOG    lines "# json NAME TEXT" of a test's log; "N passed, N failed"
"""

import json
import os
import sys

import jsonschema

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/kvnetctl/kvnetctl.schema.json")


def problem(name, text):
    """What is wrong with the output of a command, or None."""
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    if name not in schema["$defs"]:
        return f"there is no schema '{name}'"
    try:
        value = json.loads(text)
        jsonschema.validate(value, {**schema, "$ref": f"#/$defs/{name}"},
                            cls=jsonschema.Draft202012Validator)
    except (ValueError, jsonschema.ValidationError) as error:
        return str(error).splitlines()[0]
    return None


def main(log):
    passed = failed = 0
    with open(log, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("# json "):
                continue
            name, text = line[len("# json "):].split(" ", 1)
            wrong = problem(name, text)
            print(f"{'not ok' if wrong else 'ok'} - kvnetctl: JSON of {name} fits its schema")
            if wrong:
                print(f"# {wrong}")
            failed += wrong is not None
            passed += wrong is None
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
